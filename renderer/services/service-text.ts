/** Words for services and search engines, and services in groups. */
import type { SafeSearch, Service } from '../client/answers.ts';

export type SafeEngine = SafeSearch['engines'][number];

export const engineLabels: Record<SafeEngine, string> = {
  google: 'Google',
  youtube: 'YouTube',
  bing: 'Bing',
  duckduckgo: 'DuckDuckGo',
  yandex: 'Yandex',
  pixabay: 'Pixabay',
  brave: 'Brave Search',
  ecosia: 'Ecosia',
};
export const engines = Object.keys(engineLabels) as SafeEngine[];

const categoryLabels: Readonly<Record<string, string>> = {
  social: 'Social media',
  messaging: 'Messages and calls',
  video: 'Video',
  music: 'Music and audio',
  games: 'Games',
  shopping: 'Shopping',
  ai: 'AI assistants',
  dating: 'Dating',
  news: 'News',
  files: 'Files',
  other: 'Other',
};

export interface ServiceGroup {
  readonly category: string;
  readonly label: string;
  readonly services: readonly Service[];
}

/** Services whose title or domains have the text, by category, in the order of the catalogue. */
export function groupServices(catalogue: readonly Service[], text: string): ServiceGroup[] {
  const wanted = text.trim().toLowerCase();
  const groups = new Map<string, Service[]>();
  for (const service of catalogue) {
    const isFound = [service.title, ...service.domains].some((word) =>
      word.toLowerCase().includes(wanted),
    );
    if (!isFound) continue;
    const group = groups.get(service.category);
    if (group === undefined) groups.set(service.category, [service]);
    else group.push(service);
  }
  return [...groups].map(([category, services]) => ({
    ...{ category, services },
    label: categoryLabels[category] ?? category,
  }));
}

/** What safe search is when one engine is switched; without any engine it is off. */
export function switchEngine(was: SafeSearch, engine: SafeEngine, isOn: boolean): SafeSearch {
  const before = was.enabled ? was.engines : [];
  const others = before.filter((one) => one !== engine);
  const now = isOn ? engines.filter((one) => one === engine || others.includes(one)) : others;
  return now.length === 0
    ? { ...was, enabled: false, engines: [...engines] }
    : { ...was, enabled: true, engines: now };
}

/** Search engines, and services in groups. */
import type { SafeSearch, Service } from '../client/answers.ts';
import { t } from '../text.ts';

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
  const labels: Readonly<Record<string, string>> = t().services.categories;
  return [...groups].map(([category, services]) => ({
    ...{ category, services },
    label: labels[category] ?? category,
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

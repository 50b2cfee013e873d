/**
 * The safe forms of search engines, as their makers document them for networks: names that are
 * answered with an alias to another name, which always filters. Used by services-table.ts.
 */
import type { SafeEngine } from '../../contract/filter-words.ts';

export interface SafeForm {
  /** These names alone, not what is below them. */
  readonly names: readonly string[];
  readonly target: string;
}

/** Google's country domains: google.TLD, with www. */
const GOOGLE_SUFFIXES = [
  'com ad ae com.af com.ag al am co.ao com.ar as at com.au az ba com.bd be bf bg com.bh bi bj com.bn',
  'com.bo com.br bs bt co.bw by com.bz ca cd cf cg ch ci co.ck cl cm cn com.co co.cr com.cu cv',
  'com.cy cz de dj dk dm com.do dz com.ec ee com.eg es com.et fi com.fj fm fr ga ge gg com.gh',
  'com.gi gl gm gr com.gt gy com.hk hn hr ht hu co.id ie co.il im co.in iq is it je com.jm jo',
  'co.jp co.ke com.kh ki kg co.kr com.kw kz la com.lb li lk co.ls lt lu lv com.ly co.ma md me mg',
  'mk ml com.mm mn com.mt mu mv mw com.mx com.my co.mz com.na com.ng com.ni ne nl no com.np nr nu',
  'co.nz com.om com.pa com.pe com.pg com.ph com.pk pl pn com.pr ps pt com.py com.qa ro ru rw',
  'com.sa com.sb sc se com.sg sh si sk com.sl sn so sm sr st com.sv td tg co.th com.tj tl tm tn',
  'to com.tr tt com.tw co.tz com.ua co.ug co.uk com.uy co.uz com.vc co.ve co.vi com.vn vu ws rs',
  'co.za co.zm co.zw cat',
].flatMap((line) => line.split(' '));

const YOUTUBE_NAMES = [
  ...['www.youtube.com', 'm.youtube.com', 'youtube.com', 'www.youtube-nocookie.com'],
  ...['youtubei.googleapis.com', 'youtube.googleapis.com'],
];

const YANDEX_SUFFIXES = ['com', 'ru', 'ua', 'by', 'kz', 'com.tr', 'fr', 'eu', 'az', 'uz'];

const FORMS: Readonly<Record<Exclude<SafeEngine, 'youtube'>, SafeForm>> = {
  google: {
    names: GOOGLE_SUFFIXES.flatMap((suffix) => [`google.${suffix}`, `www.google.${suffix}`]),
    target: 'forcesafesearch.google.com',
  },
  bing: {
    names: ['www.bing.com', 'bing.com', 'edgeservices.bing.com'],
    target: 'strict.bing.com',
  },
  duckduckgo: {
    names: ['duckduckgo.com', 'www.duckduckgo.com', 'start.duckduckgo.com', 'duck.com'],
    target: 'safe.duckduckgo.com',
  },
  yandex: {
    names: YANDEX_SUFFIXES.flatMap((suffix) => [`yandex.${suffix}`, `www.yandex.${suffix}`]),
    target: 'familysearch.yandex.ru',
  },
  pixabay: { names: ['pixabay.com', 'www.pixabay.com'], target: 'safesearch.pixabay.com' },
  brave: { names: ['search.brave.com'], target: 'forcesafe.search.brave.com' },
  ecosia: { names: ['www.ecosia.org', 'ecosia.org'], target: 'strict-safe-search.ecosia.org' },
};

/** @param youtube  strict leaves out more than moderate */
export function safeForm(engine: SafeEngine, youtube: 'strict' | 'moderate'): SafeForm {
  if (engine !== 'youtube') return FORMS[engine];
  const target = youtube === 'strict' ? 'restrict.youtube.com' : 'restrictmoderate.youtube.com';
  return { names: YOUTUBE_NAMES, target };
}

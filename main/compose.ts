/**
 * Builds the program from a data folder: the one file that knows all parts.
 *
 * Called by headless.ts and electron/main.ts, in the main thread. The order is the shortest way to
 * the first answer: settings, then lists and log side by side, then the data plane; doors come
 * after, because DNS must not wait for them. What was opened is closed in the reverse order.
 */
import { randomBytes } from 'node:crypto';
import type { LookupFunction } from 'node:net';
import { join, resolve } from 'node:path';
import type { Config } from './contract/config.ts';
import { AppError } from './contract/errors.ts';
import { DataPlane } from './dataplane/data-plane.ts';
import type { PolicyMessage } from './dataplane/messages.ts';
import { openHttpDoor } from './interfaces/http-door.ts';
import { RunFile } from './interfaces/run-file.ts';
import { ListManager } from './lists/list-manager.ts';
import { compileRules } from './lists/rules.ts';
import { QueryLog } from './log/query-log.ts';
import { logRings, ringReader } from './log/ring-set.ts';
import { bindError } from './net/bind-error.ts';
import { createLookup } from './net/bootstrap.ts';
import { formatEndpoint, parseListen } from './net/server-address.ts';
import { expandServers } from './net/system-servers.ts';
import { realClock } from './service/clock.ts';
import { ConfigStore } from './service/config-store.ts';
import { Closers } from './service/closers.ts';
import { Filters } from './service/filters.ts';
import { Health } from './service/health.ts';
import { ListNews } from './service/list-news.ts';
import { AddressBook } from './service/address-book.ts';
import { NetworkWatch } from './service/network-watch.ts';
import { buildPolicy } from './service/policy-builder.ts';
import { ProtectionSwitch } from './service/protection.ts';
import { buildId, programVersion, rendererPath, resourcePath } from './service/resources.ts';
import { loadServices } from './service/services.ts';
import { Service } from './service/service.ts';
import { SettingsCache } from './service/settings-cache.ts';
import { TemporaryRules } from './service/temporary-rules.ts';
import { hostsToResolve, UpstreamNotices, upstreamUse } from './service/upstream-notices.ts';

/** Ports tried, on the same address, when port 53 cannot be had and a fallback is allowed. */
const FALLBACK_PORTS = [5353, 15353];

export interface ComposeOptions {
  /** Made when missing, for this user only. */
  readonly dataDirectory: string;
  /** Default: sluice.yaml in the data folder, made from the template when missing. */
  readonly configFile?: string;
  /** In place of dns.listen. */
  readonly listen?: readonly string[];
  /** Listen on another port when 53 is taken or forbidden. */
  readonly portFallback?: boolean;
  /** Gets one line for each step worth telling a person. */
  readonly onProgress?: (line: string) => void;
  /** Lists were compiled anew. */
  readonly onTable?: () => void;
}

export interface Program {
  readonly service: Service;
  /** Bound addresses of the DNS listeners, as "127.0.0.1:53". */
  readonly listening: readonly string[];
  readonly configFile: string;
  /**
   * Opens the HTTP door and tells the command line where it is.
   *
   * @param options  `listen` in place of http.listen; `portFallback` takes any port when that is taken
   * @returns        the bound address
   * @throws         AppError PORT_IN_USE, PORT_FORBIDDEN, ADDRESS_UNAVAILABLE
   */
  openHttp(options?: HttpChoice): Promise<string>;
  /** Stops answering, drains the log, and gives the data folder back. Idempotent. */
  close(): Promise<void>;
}

export interface HttpChoice {
  readonly listen?: string;
  readonly portFallback?: boolean;
}

/**
 * @throws AppError CONFIG_INVALID, CONFIG_UNWRITABLE, ALREADY_RUNNING, PORT_IN_USE, PORT_FORBIDDEN,
 *         ADDRESS_UNAVAILABLE; nothing is left open then
 */
export async function compose(options: ComposeOptions): Promise<Program> {
  const closers = new Closers();
  try {
    return await build(options, closers);
  } catch (error) {
    await closers.close();
    throw error;
  }
}

async function build(options: ComposeOptions, closers: Closers): Promise<Program> {
  const { dataDirectory, onProgress: say = () => undefined } = options;
  const ownFile = join(dataDirectory, 'sluice.yaml');
  const configFile = options.configFile ?? ownFile;
  const health = new Health(realClock);
  const version = programVersion();
  const token = randomBytes(32).toString('base64url');
  const runFile = await RunFile.claim(dataDirectory, version, token, (reason) => {
    health.setProblem('data folder', reason && dataFolderTrouble(reason));
  });
  closers.add(() => runFile.release());
  const built = buildId();
  const store = await ConfigStore.open({
    file: configFile,
    templateFile: resolve(configFile) === resolve(ownFile) ? resourcePath('sluice.yaml') : null,
    cache: built === null ? null : new SettingsCache(join(dataDirectory, 'settings.json'), built),
  });
  if (store.trouble !== '') {
    health.setProblem('settings', `The default settings are in use: ${store.trouble}.`);
  }
  for (const reason of health.problems) say(reason);
  say(`settings ${configFile}${store.isNew ? ' (new, made from the template)' : ''}`);

  const { service, listening } = await startParts(options, store, version, health, closers);
  closers.add(() => service.close());
  await runFile.publish({ dns: listening, http: null });
  return {
    service,
    listening,
    configFile,
    async openHttp(choice = {}) {
      const door = await openDoor(
        service,
        choice,
        store.config.http.listen,
        { token, version },
        say,
      );
      closers.add(() => door.close());
      const http = formatEndpoint(door.address, door.port);
      await runFile.publish({ dns: listening, http });
      return http;
    },
    close: () => closers.close(),
  };
}

function dataFolderTrouble(reason: string): string {
  return (
    `The data folder takes no files: ${reason}. DNS is answered, but nothing new is remembered, ` +
    'the command line may not find this instance, and a second one is not kept away.'
  );
}

/** Opens lists, log, switch and data plane, and puts the service over them. */
async function startParts(
  options: ComposeOptions,
  store: ConfigStore,
  version: string,
  health: Health,
  closers: Closers,
): Promise<{ readonly service: Service; readonly listening: readonly string[] }> {
  const { dataDirectory, onProgress: say = () => undefined } = options;
  const { config } = store;
  const listen = options.listen ?? config.dns.listen;
  const clock = realClock;
  // The parts call back as soon as they are open; what comes before the service stands, it reads.
  const late: Late = {};
  const rings = logRings(config.dns.threads);
  const bootstrap = bootstrapLookup(config, listen);

  const protection = await ProtectionSwitch.open({
    file: join(dataDirectory, 'protection.json'),
    clock,
    onChange: () => late.service?.protectionChanged(),
    onSaveFailed: (reason) => {
      health.setNotice('protection', `The switch is not remembered over a restart: ${reason}.`);
    },
  });
  closers.add(() => protection.close());
  // A slow disk may hold up the log for seconds; DNS does not wait for it.
  const logOpening = openLog(dataDirectory, config, rings, late);
  closers.add(() => logOpening.then((log) => log.close()));
  const lists = await openLists(options, config, bootstrap.lookup, late);
  closers.add(() => lists.close());
  say(`lists: ${String(lists.nameCount)} names`);
  const temporary = await TemporaryRules.open({
    ...{ directory: dataDirectory, clock, health },
    onChange: () => late.service?.rulesChanged(),
  });
  closers.add(() => temporary.close());
  const filters = new Filters();
  await loadServices(config);
  const { isFiltering } = protection;
  const parts = { config, lists, filters, temporary: temporary.all, isFiltering };
  const policy = firstPolicy({ ...parts, nowMs: clock.wallMs() });
  const upstreams = await openUpstreams(dataDirectory, config, bootstrap.lookup, health, late);
  const { addressBook, upstreamNotices } = upstreams;
  closers.add(() => addressBook.close());
  const plane = await startPlane(options, listen, {
    ...upstreams.planeOptions,
    threads: config.dns.threads,
    rings,
    policy,
    cacheDirectory: dataDirectory,
    onFault: (reason) => {
      health.fault(reason);
      late.service?.stateChanged();
      say(reason);
    },
  });
  closers.add(() => plane.close());
  late.plane = plane;
  // What was found while the threads were starting.
  plane.setAddresses(addressBook.addresses);
  const log = await logOpening;
  late.service = new Service({
    ...{ version, clock, store, protection, health, plane, lists, log, policy },
    ...{ filters, temporary },
    ...{ addressBook, upstreamNotices, network: new NetworkWatch(clock) },
    logRing: ringReader(rings),
    setBootstrap: bootstrap.set,
  });
  return { service: late.service, listening: plane.listening };
}

/** What the data plane starts with. */
function firstPolicy(parts: FirstPolicyParts): PolicyMessage {
  const { config, lists, filters, temporary, isFiltering, nowMs } = parts;
  const { listNames, table } = lists;
  return buildPolicy({
    ...{ version: 1, filtering: isFiltering, config, temporary, lists: table },
    rules: compileRules(config.rules),
    filters: filters.build(config, { listNames, nowMs, neighbours: new Map() }),
  });
}

interface FirstPolicyParts {
  readonly config: Config;
  readonly lists: Pick<ListManager, 'listNames' | 'table'>;
  readonly filters: Filters;
  readonly temporary: TemporaryRules['all'];
  readonly isFiltering: boolean;
  readonly nowMs: number;
}

/** What the parts call back into, once it stands. */
interface Late {
  service?: Service;
  plane?: DataPlane;
  lists?: ListManager;
}

/** What the data plane needs to know about upstreams, and who keeps it up to date. */
async function openUpstreams(
  dataDirectory: string,
  config: Config,
  lookup: LookupFunction,
  health: Health,
  late: Late,
) {
  const upstreamNotices = new UpstreamNotices(health);
  const addressBook = await AddressBook.open({
    ...{ lookup, clock: realClock },
    file: join(dataDirectory, 'upstream-addresses.json'),
    onAddresses: (addresses) => late.plane?.setAddresses(addresses),
    onTrouble: (host, reason) => {
      upstreamNotices.noAddress(host, reason);
      late.service?.stateChanged();
    },
    onSaveFailed: (reason) => {
      health.setNotice('addresses', `Addresses of upstreams are not remembered: ${reason}.`);
    },
  });
  addressBook.setHosts(hostsToResolve(config));
  const planeOptions: Pick<PlaneOptions, 'upstreams' | 'upstreamUse' | 'addresses' | 'onUpstream'> =
    {
      upstreams: config.dns.upstreams,
      upstreamUse: upstreamUse(config),
      addresses: addressBook.addresses,
      onUpstream: (news) => {
        if (news.kind === 'unreachable') addressBook.refresh(news.host);
        else upstreamNotices.trouble(news.upstream, news.reason);
        late.service?.stateChanged();
      },
    };
  return { addressBook, upstreamNotices, planeOptions };
}

type PlaneOptions = Parameters<typeof DataPlane.start>[0];

async function startPlane(
  options: ComposeOptions,
  listen: readonly string[],
  rest: Omit<PlaneOptions, 'listen'>,
): Promise<DataPlane> {
  try {
    return await DataPlane.start({ ...rest, listen: [...listen] });
  } catch (error) {
    if (options.portFallback !== true || !isPortTrouble(error)) throw error;
    let last: unknown = error;
    for (const port of FALLBACK_PORTS) {
      const other = listen.map((text) => text.replace(/:53$/, `:${String(port)}`));
      if (other.every((text, index) => text === listen[index])) break;
      options.onProgress?.(`${(last as AppError).message}; trying port ${String(port)}`);
      try {
        return await DataPlane.start({ ...rest, listen: other });
      } catch (next) {
        if (!isPortTrouble(next)) throw next;
        last = next;
      }
    }
    throw last;
  }
}

function isPortTrouble(error: unknown): boolean {
  return (
    error instanceof AppError && (error.code === 'PORT_IN_USE' || error.code === 'PORT_FORBIDDEN')
  );
}

async function openLists(
  options: ComposeOptions,
  config: Config,
  lookup: LookupFunction,
  late: Late,
): Promise<ListManager> {
  const news = new ListNews();
  const tell = (): void => {
    for (const line of news.read(late.lists?.statuses() ?? [])) options.onProgress?.(line);
  };
  late.lists = await ListManager.open({
    directory: join(options.dataDirectory, 'lists'),
    sources: config.lists,
    refreshHours: config.listRefreshHours,
    lookup,
    builtinDirectory: resourcePath('lists'),
    onTable: () => {
      late.service?.tableChanged();
      options.onTable?.();
    },
    onStatus: () => {
      late.service?.stateChanged();
      tell();
    },
  });
  tell();
  return late.lists;
}

async function openLog(
  dataDirectory: string,
  config: Config,
  rings: SharedArrayBuffer[],
  late: Late,
): Promise<QueryLog> {
  return QueryLog.open({
    directory: join(dataDirectory, 'log'),
    settings: config.log,
    rings,
    onLive: (rows, leftOut) => late.service?.rowsLogged(rows, leftOut),
    onState: () => late.service?.stateChanged(),
  });
}

/** A lookup whose servers can be exchanged while downloads use it. */
function bootstrapLookup(config: Config, listen: readonly string[]) {
  let current = createLookup(expandServers(config.dns.bootstrap, listen));
  const lookup: LookupFunction = (hostname, options, callback) => {
    current(hostname, options, callback);
  };
  return {
    lookup,
    set: (servers: readonly string[]) => {
      current = createLookup(expandServers(servers, listen));
    },
  };
}

async function openDoor(
  service: Service,
  choice: HttpChoice,
  configured: string,
  { token, version }: { readonly token: string; readonly version: string },
  say: (line: string) => void,
) {
  const { address, port } = parseListen(choice.listen ?? configured);
  const open = (chosen: number) =>
    openHttpDoor({
      ...{ service, address, port: chosen, token, version },
      pageFolder: rendererPath(),
    });
  try {
    return await open(port);
  } catch (error) {
    const refused = bindError(error as NodeJS.ErrnoException, 'tcp', address, port);
    if (choice.portFallback !== true || !isPortTrouble(refused)) throw refused;
    say(`${refused.message}; taking a free port`);
    return open(0);
  }
}

/**
 * Builds the program from a data folder: with compose/, which opens the single parts, the one
 * place that knows all of them.
 *
 * Called by headless.ts and electron/main.ts, in the main thread. The order is the shortest way to
 * the first answer: settings, then lists and log side by side, then the data plane; doors come
 * after, because DNS must not wait for them. What was opened is closed in the reverse order.
 */
import type { HttpChoice } from './options.ts';
import type { ComposeOptions } from './options.ts';
import { join, resolve } from 'node:path';
import { openControlDoor, openDoor } from './door.ts';
import type { Late } from './late.ts';
import { openLists } from './lists.ts';
import { logRings, openLog, ringReader } from './log.ts';
import { startPlane } from './plane.ts';
import { openSystemDns, restoreLeftovers } from './system-dns.ts';
import { bootstrapLookup, openUpstreams } from './upstreams.ts';
import type { Config } from '../contract/config.ts';
import { AccessToken } from '../api/http/access-token.ts';
import { RunFile } from '../api/run-file.ts';
import type { ListManager } from '../lists/list-manager.ts';
import { compileRules } from '../lists/compile/rules.ts';
import { formatEndpoint } from '../net/server-address.ts';
import { realClock } from '../system/clock.ts';
import { ConfigStore } from '../control/settings/config-store.ts';
import { Closers } from '../control/process/closers.ts';
import { Filters } from '../control/policy/filters.ts';
import { Health } from '../control/process/health.ts';
import { NetworkWatch } from '../control/machine/network-watch.ts';
import { buildPolicy } from '../control/policy/policy-builder.ts';
import { ProtectionSwitch } from '../control/machine/protection.ts';
import { programVersion, resourcePath } from '../control/process/resources.ts';
import { loadServices } from '../control/policy/services.ts';
import { ControlPlane } from '../control/control-plane.ts';
import type { TakeoverSwitch } from '../control/machine/takeover-switch.ts';
import { Surroundings } from '../control/machine/surroundings.ts';
import { TemporaryRules } from '../control/settings/temporary-rules.ts';
import { Uploads } from '../control/methods/uploads.ts';
import { newInstanceId } from '../system-dns/takeover/probe.ts';

export interface Program {
  readonly service: ControlPlane;
  /** Bound addresses of the DNS listeners, as "127.0.0.1:53". */
  readonly listening: readonly string[];
  readonly configFile: string;
  /**
   * Opens the HTTP door and tells the command line where it is.
   *
   * @param options  `listen` in place of http.listen; `portFallback` takes any port when that is taken
   * @returns        the bound address; null while the machine does not have it, which health tells
   * @throws         AppError PORT_IN_USE, PORT_FORBIDDEN
   */
  openHttp(options?: HttpChoice): Promise<string | null>;
  /** Stops answering, drains the log, and gives the data folder back. Idempotent. */
  close(): Promise<void>;
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
  const runFile = await RunFile.claim(dataDirectory, version, (reason) => {
    health.setProblem('data folder', reason && dataFolderTrouble(reason));
  });
  closers.add(() => runFile.release());
  const token = await AccessToken.open(dataDirectory, (sentence) => {
    health.setNotice('token', sentence);
  });
  const store = await ConfigStore.open({
    file: configFile,
    templateFile: resolve(configFile) === resolve(ownFile) ? resourcePath('sluice.yaml') : null,
    copyFolder: dataDirectory,
  });
  if (store.problem !== '') health.setProblem('settings', store.problem);
  if (store.notice !== '') {
    health.setNotice('settings', store.notice);
    say(store.notice);
  }
  for (const reason of health.problems) say(reason);
  say(`settings ${configFile}${store.isNew ? ' (new, made from the template)' : ''}`);

  await restoreLeftovers(say);
  const { service, listening, takeover } = await startParts(
    ...([options, store, version, health, closers, token] as const),
  );
  closers.add(() => service.close());
  closers.add(await openControlDoor({ service, version }, dataDirectory));
  await runFile.publish({ dns: listening, http: null });
  void store.started();
  takeover.follow();
  void takeover.start(store.config.systemDns.takeOver);
  return {
    service,
    listening,
    configFile,
    async openHttp(choice = {}) {
      const config = (): Config => store.config;
      let published: Promise<void> = Promise.resolve();
      const door = await openDoor({ service, token, version, config }, choice, say, (http) => {
        published = runFile.publish({ dns: listening, http });
      });
      closers.add(() => door.close());
      await published;
      return door.port === 0 ? null : formatEndpoint(door.address, door.port);
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
  token: AccessToken,
): Promise<{
  readonly service: ControlPlane;
  readonly listening: readonly string[];
  readonly takeover: TakeoverSwitch;
}> {
  const { dataDirectory, onProgress: say = () => undefined } = options;
  const { config } = store;
  const listen = options.listen ?? config.dns.listen;
  const clock = realClock;
  // The parts call back as soon as they are open; what comes before the service stands, it reads.
  const late: Late = {};
  const rings = logRings(config.dns.threads);
  const bootstrap = bootstrapLookup(config, listen);

  const protection = openProtection(dataDirectory, health, late);
  closers.add(() => protection.close());
  // A slow disk may hold up the log for seconds; DNS does not wait for it.
  const logOpening = openLog(dataDirectory, config, rings, late);
  closers.add(() => logOpening.then((log) => log.close()));
  const lists = await openLists(options, config, bootstrap.lookup, late);
  closers.add(() => lists.close());
  say(`lists: ${String(lists.nameCount)} names`);
  const instance = newInstanceId();
  const temporary = TemporaryRules.open({
    ...{ directory: dataDirectory, clock, health },
    onChange: () => late.service?.rulesChanged(),
  });
  closers.add(() => temporary.close());
  const filters = new Filters();
  await loadServices(config);
  const { isFiltering } = protection;
  const parts = { config, isFiltering, lists, filters, instance, temporary: temporary.all };
  const surroundings = new Surroundings(listen);
  const policy = firstPolicy({ ...parts, networks: surroundings.networks });
  const upstreams = openUpstreams(dataDirectory, config, bootstrap.lookup, health, late);
  const { addressBook, upstreamNotices } = upstreams;
  closers.add(() => addressBook.close());
  const plane = await startPlane(options, listen, {
    ...upstreams.planeOptions,
    ...{ threads: config.dns.threads, rings, policy, cacheDirectory: dataDirectory, health, late },
  });
  closers.add(() => plane.close());
  late.plane = plane;
  // What was found while the threads were starting.
  plane.setAddresses(addressBook.addresses);
  const facts = { listening: () => plane.listening, instance };
  const { systemDns, takeover } = openSystemDns(options, facts, health, late);
  closers.add(async () => {
    await takeover.close();
    await systemDns.close();
  });
  const log = (late.log = await logOpening);
  late.service = new ControlPlane({
    ...{ version, clock, store, protection, health, plane, lists, log, policy },
    ...{ filters, temporary, instance, takeover, addressBook, upstreamNotices, surroundings },
    network: new NetworkWatch(clock),
    uploads: new Uploads(dataDirectory, clock),
    renewToken: () => token.renew(),
    logRing: ringReader(rings),
    setBootstrap: bootstrap.set,
  });
  return { service: late.service, listening: plane.listening, takeover };
}

/** The policy that the data plane starts with, before anything is known of the network. */
function firstPolicy(parts: FirstPolicyParts): ReturnType<typeof buildPolicy> {
  const { config, isFiltering, lists, filters, instance, temporary, networks } = parts;
  return buildPolicy({
    ...{ version: 1, instance, filtering: isFiltering, config, temporary, networks },
    rules: compileRules(config.rules),
    lists: lists.table,
    filters: filters.build(config, {
      listNames: lists.listNames,
      nowMs: realClock.wallMs(),
      neighbours: new Map(),
    }),
  });
}

interface FirstPolicyParts {
  readonly config: Config;
  readonly isFiltering: boolean;
  readonly lists: ListManager;
  readonly filters: Filters;
  readonly instance: string;
  readonly temporary: TemporaryRules['all'];
  readonly networks: Surroundings['networks'];
}

/** The switch, as it was left. */
function openProtection(dataDirectory: string, health: Health, late: Late): ProtectionSwitch {
  return ProtectionSwitch.open({
    file: join(dataDirectory, 'protection.json'),
    clock: realClock,
    onChange: () => late.service?.protectionChanged(),
    onSaveFailed: (reason) => {
      health.setNotice('protection', `The switch is not remembered over a restart: ${reason}.`);
    },
    onDamaged: (sentence) => {
      health.setNotice('protection', `Filtering is on, whatever it was before: ${sentence}.`);
    },
  });
}

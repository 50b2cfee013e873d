/**
 * All state of the window, built once by main.ts and reached from components through a context.
 */
import { createContext } from 'svelte';
import type { LiveUpdate, MethodOutput, Status } from '../../main/contract/methods/methods.ts';
import type { WindowClient } from '../client/client.ts';
import { Check, type CheckQuestion } from './check.svelte.ts';
import { Clients } from './clients.svelte.ts';
import { Clock } from './clock.svelte.ts';
import type { Connection } from './connection.svelte.ts';
import { Decisions } from './decisions.svelte.ts';
import { language } from './language.svelte.ts';
import { Lists } from './lists.svelte.ts';
import { LiveFeed } from './live-feed.svelte.ts';
import { LogSearch } from './log-search.svelte.ts';
import { Policies } from './policies.svelte.ts';
import { Poll } from './poll.svelte.ts';
import { ProtectionState } from './protection.svelte.ts';
import { Records } from './records.svelte.ts';
import { Route } from './route.svelte.ts';
import { Rules } from './rules.svelte.ts';
import { Services } from './services.svelte.ts';
import { TakeoverState } from './takeover.svelte.ts';
import { Statistics } from './statistics.svelte.ts';
import { Toasts } from './toasts.svelte.ts';

/** The shell shows protection and health on every page, so this goes on all the time. */
const statusRefreshMs = 3_000;
/** Without queries there is little news of upstreams. */
const upstreamsRefreshMs = 5_000;

export class AppState {
  readonly client: WindowClient;
  readonly connection: Connection;
  readonly clock = new Clock();
  readonly route = new Route();
  readonly toasts = new Toasts();
  readonly status: Poll<Status>;
  readonly upstreams: Poll<MethodOutput<'upstreams.list'>>;
  readonly protection: ProtectionState;
  readonly takeover: TakeoverState;
  readonly live: LiveFeed;
  readonly statistics: Statistics;
  readonly search: LogSearch;
  readonly lists: Lists;
  readonly rules: Rules;
  readonly policies: Policies;
  readonly services: Services;
  readonly records: Records;
  readonly clients: Clients;
  readonly decisions: Decisions;
  readonly check: Check;

  constructor(client: WindowClient, connection: Connection) {
    this.client = client;
    this.connection = connection;
    this.protection = new ProtectionState(client, this.toasts);
    this.takeover = new TakeoverState(client, this.toasts);
    this.status = new Poll(async () => {
      const askedAtMs = Date.now();
      const status = await client.call('status', {});
      this.protection.take(status.protection, askedAtMs);
      this.takeover.take(status.takeover, askedAtMs);
      language.setDefault(status.language);
      return status;
    }, statusRefreshMs);
    this.upstreams = new Poll(() => client.call('upstreams.list', {}), upstreamsRefreshMs);
    this.live = new LiveFeed(client, (update) => {
      this.protection.take(update.protection, Date.now());
      this.takeover.take(update.takeover, Date.now());
    });
    this.statistics = new Statistics(client);
    this.search = new LogSearch(client);
    this.lists = new Lists(client, this.toasts);
    this.rules = new Rules(client, this.toasts);
    this.policies = new Policies(client, this.toasts);
    this.services = new Services(client, this.toasts);
    this.records = new Records(client, this.toasts);
    this.clients = new Clients(client, this.toasts);
    this.check = new Check(client);
    this.decisions = new Decisions(client, this.toasts, (rules) => {
      this.rules.take(rules);
    });
  }

  /** Shows what a question would get, and why, on the page that has the check. */
  explain(question: CheckQuestion): void {
    this.route.open('rules');
    void this.check.open(question);
  }

  /** Totals and latency, as the newest report has them; null before the first. Follows the live topic. */
  get figures(): Pick<LiveUpdate, 'totals' | 'latency'> | null {
    const { live, status } = this;
    const isLiveNewer = live.latest !== null && live.latestAtMs >= status.valueAtMs;
    return isLiveNewer ? live.latest : status.value;
  }
}

/** Set by App.svelte; `useApp` may be called while a component is being set up. */
export const [useApp, provideApp] = createContext<AppState>();

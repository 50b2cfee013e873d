/**
 * Every bound of the program, in one place. Read by all parts, in every thread.
 *
 * A queue, a cache or a body that is not listed here has no business growing. Relations between the
 * bounds are asserted at the end of this file, when it is loaded.
 */
export const LIMITS = {
  /** Wire form of a name, root label included. RFC 1035 §2.3.4. */
  nameBytesMax: 255,
  /** One label. RFC 1035 §2.3.4. */
  labelBytesMax: 63,
  /** Labels in a 255-byte name, root not counted. */
  labelsMax: 127,
  /** A DNS message over TCP. RFC 1035 §4.2.2. */
  messageBytesMax: 65_535,
  /** A UDP query longer than this is dropped unread: no question needs it. */
  udpQueryBytesMax: 4_096,
  /** UDP payload size we advertise and never exceed. RFC 9715 §3.1, DNS Flag Day 2020. */
  udpPayloadBytes: 1_232,
  /** UDP payload of a client without EDNS. RFC 1035 §4.2.1. */
  udpPayloadBytesPlain: 512,

  /** Log ring slots in all, divided among data-plane threads. */
  logRingSlots: 4_096,
  /** Records the log writer puts into one transaction. */
  logBatchRecords: 256,
  /** Longest wait of a queued record before its batch is written. */
  logFlushMs: 500,

  /** Time a client waits for an upstream answer before SERVFAIL, unless `dns.timeoutMs` says. */
  upstreamBudgetMs: 5_000,
  /** Bounds of `dns.timeoutMs`. */
  upstreamTimeoutMsMin: 500,
  upstreamTimeoutMsMax: 20_000,
  /** Time from its beginning in which the answer to a question is still taken, for the cache. */
  upstreamListenMs: 10_000,
  /** Questions whose asker was told, and of which replies may still come; per data-plane thread. */
  upstreamListenersMax: 2_048,
  /** Questions that are in flight at a time while no server answers anything. */
  upstreamOfflineMax: 32,
  /** Distinct questions in flight upstream, per data-plane thread; the next one gets SERVFAIL. */
  pendingQuestionsMax: 8_192,
  /** Clients that may wait for one identical question in flight. */
  waitersPerQuestionMax: 256,
  /** Clients that may wait for upstream answers in all, per data-plane thread. */
  waitersMax: 16_384,
  /** TCP connections from clients, per data-plane thread. RFC 7766 §6.2.2. */
  tcpConnectionsMax: 512,
  /** TCP connections from one client address. */
  tcpConnectionsPerClientMax: 32,
  /** The same for 127.0.0.0/8 and ::1, where one address stands for every program. */
  tcpConnectionsPerLoopbackMax: 256,
  /** Questions of one TCP connection that may be unanswered. RFC 7766 §6.2.1.1. */
  tcpPipelineMax: 128,
  /** Idle time after which a client's TCP connection is closed. RFC 7766 §6.2.3. */
  tcpIdleMs: 10_000,

  /** Aliases (CNAME) followed in one answer; a longer chain is no answer. */
  chainAliasesMax: 16,
  /** Suffixes in one of the settings that name some, and CIDR blocks in an access list. */
  suffixesMax: 256,
  /** Refreshes of popular answers in flight, per data-plane thread. */
  prefetchesMax: 64,
  /** Wait for an upstream before a stale answer is given instead. RFC 8767 §5. */
  staleAnswerMs: 1_800,
  /** Clients whose query rate is kept track of, over all threads. */
  rateClientsMax: 65_536,
  /** One thread's part of the saved cache file. */
  cacheFileBytesMax: 64 * 1024 * 1024,
  /** Records shown of one inspected answer. */
  inspectRecordsMax: 100,

  /** Bytes of stored answers, per data-plane thread; entries are bounded by `cache.entriesMax`. */
  cacheBytesMax: 8 * 1024 * 1024,
  /** An answer above this is forwarded but not stored. */
  cacheEntryBytesMax: 16_384,

  /** One downloaded or local list, after decompression. */
  listBytesMax: 64 * 1024 * 1024,
  /** Window of a list packed with zstd, as a power of two: 32 MiB of memory while it is unpacked. */
  listZstdWindowLogMax: 25,
  /** Frames of a .zst list, one behind another: 64 MiB in frames of 64 KiB, four times over. */
  listFramesMax: 4_096,
  /** Time for one list download, redirects included. */
  listFetchMs: 60_000,
  /** Redirects followed for one list. */
  listRedirectsMax: 5,
  /** Lists fetched at the same time. */
  listFetchesMax: 4,
  /** Removed lists whose id and name are kept, so that old log rows still name them. */
  listsRetiredMax: 1_000,
  /** Lists in the settings. */
  listsMax: 64,
  /** Names of all lists together, one in two lists counted twice. */
  tableEntriesMax: 8_000_000,
  /** Bytes of those names. */
  tableNameBytesMax: 256 * 1024 * 1024,
  /** A line above this is ignored, unless it is a comment. */
  listLineBytesMax: 65_536,
  /** Time for one compilation of all lists before its thread is ended. */
  listCompileMs: 120_000,
  /** User rules in the settings. */
  rulesMax: 10_000,

  /** Live rows sent to one subscriber in one update. */
  liveRowsMax: 100,
  /** Shortest time between two live updates. */
  liveIntervalMs: 250,
  /** Live subscribers over all doors. */
  subscribersMax: 32,

  /** JSON body of one HTTP call. */
  httpBodyBytesMax: 256 * 1024,
  /** Rows of one log search page. */
  searchRowsMax: 500,
  /** Time one log search may take. */
  searchMs: 2_000,

  /** The settings file. Room for LIMITS.rulesMax rules of ordinary length. */
  settingsBytesMax: 4 * 1024 * 1024,
  /** Client connections of one HTTP door, live streams included; fewer where handles are few. */
  httpConnectionsMax: 256,
  /** Requests of one HTTP connection that wait for the one before; its end comes after the last. */
  httpPipelineMax: 16,
  /** Files of the built window that are kept in memory, and their bytes. */
  pageFilesMax: 256,
  pageBytesMax: 16 * 1024 * 1024,
  /** Files sent by doors that wait to be used, and their bytes: room for one large gravity.db. */
  uploadsMax: 8,
  uploadBytesMax: 512 * 1024 * 1024,
  /** Time after which one that nobody used is deleted. */
  uploadMs: 15 * 60_000,
  /** One piece of a file that the desktop window sends. */
  uploadPieceBytesMax: 4 * 1024 * 1024,
  /** Names in `http.hosts`. */
  httpHostsMax: 16,
  /** Kinds of uncaught errors of the control plane that are told apart. */
  uncaughtKindsMax: 32,

  /** Longest pause a person can ask for. */
  pauseMinutesMax: 24 * 60,
  /** Data-plane threads. */
  threadsMax: 16,

  /** Answer bytes that one TCP client may leave unread before its connection is closed. */
  tcpUnsentBytesMax: 256 * 1024,
  /** UDP sockets towards upstreams, per data-plane thread, each on a random port. RFC 5452 §9.2. */
  upstreamSocketsMax: 256,
  /** Suffixes with upstreams of their own, and servers of one of them. */
  upstreamSuffixesMax: 128,
  suffixServersMax: 4,
  /** Host names of encrypted upstreams whose addresses are kept. */
  hostsMax: 64,
  /** Addresses kept of one of them. */
  hostAddressesMax: 16,
  /** Times one question is sent upstream, over all servers, within its budget. */
  upstreamAttemptsMax: 8,
  /** TCP connections to one upstream, per data-plane thread. */
  upstreamTcpConnectionsMax: 4,
  /** Questions of one upstream TCP connection that may be unanswered. */
  upstreamTcpPipelineMax: 128,
  /**
   * Zones of one upstream of which it is remembered whether it understands the usual form of a
   * question there; the newer one stays. 19 bytes each, per data-plane thread.
   */
  upstreamZonesMax: 512,
  /** Questions that wait for a connection to one upstream, per data-plane thread. */
  upstreamTcpQueueMax: 1_024,

  /** Certificate authorities of the machine that are not built in; a system's store has some 150. */
  authoritiesMax: 1_000,
  /** One file of them, and files in one folder. */
  authorityFileBytesMax: 8 * 1024 * 1024,
  authorityFilesMax: 2_000,

  /** Distinct logged names that a new copy of a list is tried on, the most asked for first. */
  replayNamesMax: 20_000,
  /** Age of the queries they come from. */
  replayMs: 24 * 3_600_000,
  /** Longest stretch of a replay in the main thread. */
  replaySliceMs: 5,
  /** Names given as examples of what a new copy changes. */
  replayExamplesMax: 5,
  /** A new copy waits for a person when it would newly block more names than this ... */
  quarantineNames: 20,
  /** ... and a larger share of the names in use than this, percent ... */
  quarantinePercent: 20,
  /** ... or at least so many names that are more than half of those in use. */
  quarantineHalfNames: 5,
  /** A file to import from. Of a database only the small tables are read, whatever its size. */
  importBytesMax: 2 * 1024 * 1024 * 1024,
  /** An archive to import from, and its texts unpacked together: they lie in memory. */
  importArchiveBytesMax: 64 * 1024 * 1024,
  /** A text (YAML, TOML, JSON, hosts) in it. */
  importTextBytesMax: 16 * 1024 * 1024,
  /** A YAML document: its parser takes a second and some 100 MiB for each. */
  importYamlBytesMax: 4 * 1024 * 1024,
  /** Mappings and lists in one another; the documents of all known programs need 8. */
  importDepthMax: 32,
  /** A longer line of a text to import is left out. */
  importLineCharsMax: 8_192,
  /** A longer value in a database is cut. */
  importValueBytesMax: 4_096,
  /** Time for reading one file before its process is ended. */
  importMs: 60_000,
  /** JavaScript heap of that process, and of its database. */
  importHeapMiB: 192,
  importDatabaseMiB: 64,
  /** Memory of that process in all, where it can be measured. */
  importMemoryMiB: 512,
  /** What that process may hand back: a report, and settings of at most settingsBytesMax. */
  importReplyBytesMax: 16 * 1024 * 1024,
  /** Different reasons in one report; the others are counted together. */
  importReasonsMax: 100,
  /** Files in an archive. */
  importFilesMax: 1_000,
  /** Rows read of one table of a database, and entries of one section. */
  importRowsMax: 100_000,
  /** Examples of each kind of thing that was not taken. */
  importExamplesMax: 5,
  /** Lists of the catalogue. */
  catalogueListsMax: 200,

  /** Policies in the settings. */
  policiesMax: 256,
  /** Domains of one policy, and of all policies together. */
  policyDomainsMax: 20_000,
  /** Regular expressions of one policy. */
  policyRegexMax: 100,
  /** Clients and networks that one policy names. */
  policyClientsMax: 256,
  /** Addresses of one redirect. */
  redirectAddressesMax: 16,
  /** Clients in the settings, and ids and tags of one of them. */
  clientsMax: 1_024,
  clientIdsMax: 64,
  clientTagsMax: 32,
  /** Groups in the settings. */
  groupsMax: 64,
  /** Rules of one group: all of another program's may be those of one group. */
  groupRulesMax: 10_000,
  /** Services of the catalogue, and in one list of blocked ones. */
  servicesMax: 256,
  /** Local records in the settings. */
  recordsMax: 5_000,
  /** Rewrites and local aliases followed for one question. */
  rewriteStepsMax: 8,
  /** Addresses of neighbours that are kept for clients known by a MAC address. */
  neighboursMax: 4_096,
  /** Networks of this machine's interfaces that are answered; a router has a few dozen. */
  localNetworksMax: 64,
  /** Conditions, patterns and answers of the rules of all lists together, compiled. */
  programBytesMax: 64 * 1024 * 1024,
  /** Rules with conditions or an answer of their own. */
  programRulesMax: 1_000_000,
  /** Different sets of conditions and answers among them. */
  programTermsMax: 65_536,
  /** One of these sets as JSON. */
  termsBytesMax: 8_192,
  /** Such rules for one and the same name. */
  rulesPerNameMax: 64,
  /** Wildcards and regular expressions. */
  patternsMax: 50_000,
  /** One of them, as it is written. */
  patternBytesMax: 1_024,
  /** Instructions of one compiled regular expression. */
  regexProgramMax: 1_000,
  /** Work for the patterns that share their rarest bytes: a wildcard counts 2, an expression 8. */
  patternsGramCostMax: 128,
  /** The same for patterns that every name has to be compared with. */
  patternsAlwaysCostMax: 96,
  /** Rules that take other rules out ($badfilter). */
  badFiltersMax: 10_000,
  /** Networks that block answers by address. */
  addressTriggersMax: 262_144,
  /** User rules that end by themselves. */
  temporaryRulesMax: 200,
  /** Longest life of one of them. */
  temporaryMinutesMax: 24 * 60,
  /** Time after a change of the network or a sleep in which every question goes to two servers. */
  upstreamRaceMs: 3_000,
  /** Bytes that stay free on the disk when a list is stored. */
  diskReserveBytes: 16 * 1024 * 1024,
  /** Compiled expressions that one thread keeps, by an estimate; its heap has three times as much. */
  regexHeapBytesMax: 16 * 1024 * 1024,
} as const;

if (LIMITS.logBatchRecords * LIMITS.threadsMax > LIMITS.logRingSlots) {
  throw new Error('limits: one batch of every data-plane thread must fit into the log ring');
}

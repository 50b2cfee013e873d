/** What is to become of a record of an answer: said by answer-inspector.ts, done by answer-rewriter.ts. */
export const MARK_KEEP = 0;
export const MARK_DROP = 1;
/** SVCB and HTTPS: without their address hints. */
export const MARK_DROP_HINTS = 2;

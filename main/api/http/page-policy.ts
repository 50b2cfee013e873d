/**
 * What the window may load and call, whichever door serves it: the HTTP door or Electron's own
 * scheme. Source: Content Security Policy Level 3.
 */

/** Only the origin it came from; styles set by script are not inline styles. */
export const PAGE_POLICY = [
  `default-src 'none'`,
  `script-src 'self'`,
  `style-src 'self'`,
  `img-src 'self' data:`,
  `font-src 'self'`,
  `connect-src 'self'`,
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'none'`,
].join('; ');

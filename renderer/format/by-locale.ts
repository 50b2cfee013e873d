/** Formatters of Intl, made once for each locale that is used. */
import { locale } from '../text.ts';

/** A formatter for the locale in use now. */
export function byLocale<Format>(make: (locale: string | undefined) => Format): () => Format {
  const made = new Map<string | undefined, Format>();
  return () => {
    const key = locale();
    let format = made.get(key);
    if (format === undefined) made.set(key, (format = make(key)));
    return format;
  };
}

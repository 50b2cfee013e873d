/**
 * Tells names of the public name space from those that only a home or company network can have. Used
 * by answer-inspector.ts, when an answer has private addresses.
 */
import type { NameView } from './name.ts';

/**
 * Whether the top-level domain of a name is not in the public root: nobody outside can have such a
 * name, so its private addresses are no rebinding. Single labels are such names, too.
 *
 * @param publicTlds  as in Policy.rebinding; '' makes every name a public one
 */
export function isHomeName(view: NameView, publicTlds: string): boolean {
  const { name, nameLength, labelStarts, labelCount } = view;
  if (publicTlds === '' || labelCount === 0) return false;
  const start = (labelStarts[labelCount - 1] as number) + 1;
  let label = '';
  for (let index = start; index < nameLength; index++) {
    const byte = name[index] as number;
    // A space would end a word of the text, and no domain has one.
    if (byte <= 0x20) return false;
    label += String.fromCharCode(byte);
  }
  return label.charCodeAt(0) >= 0x30 && !publicTlds.includes(` ${label} `);
}

/** Entries that are typed one a line, or separated by commas and spaces. */

/** Lines without those that are empty. */
export function splitLines(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

/** Words between spaces, commas, semicolons and line ends. */
export function splitWords(text: string): string[] {
  return text.split(/[\s,;]+/).filter((word) => word !== '');
}

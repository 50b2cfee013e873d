/** Hands a text to the browser, or to the desktop's window, as a file: the person chooses where. */
export function download(page: Document, name: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
  const link = page.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  // The browser holds the content from here on.
  setTimeout(() => {
    URL.revokeObjectURL(address);
  }, 60_000);
}

export function nodePackage(platform?: string, arch?: string): string;
export function chooseNode(
  version?: string,
  executable?: string,
  folder?: string,
): { readonly executable: string } | { readonly problem: string };

/** Fehler, die das Fenster selbst findet. */
import type { Texts } from '../en/index.ts';

export const errors: Texts['errors'] = {
  noAnswer: 'Sluice antwortet nicht.',
  noUploadId:
    'Die Datei konnte nicht hochgeladen werden: Sluice hat eine unerwartete Antwort gegeben.',
  httpStatus: (status) => `Sluice hat mit dem HTTP-Status ${String(status)} geantwortet.`,
  unknown: 'Etwas ist schiefgegangen.',
};

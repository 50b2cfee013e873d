/** Errors that the window itself finds; those of the service bring their own sentence. */
export const errors = {
  noAnswer: 'Sluice is not responding.',
  noUploadId: 'The file could not be uploaded: Sluice gave an unexpected answer.',
  httpStatus: (status: number) => `Sluice answered with HTTP status ${String(status)}.`,
  unknown: 'Something went wrong.',
};

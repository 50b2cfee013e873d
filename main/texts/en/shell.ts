/** What surrounds every page of the window: navigation, notices, dialogs, the access token. */
export const shell = {
  pages: {
    activity: 'Activity',
    log: 'Log',
    lists: 'Lists',
    rules: 'Rules',
    policies: 'Policies',
    clients: 'Clients',
    network: 'Network',
    health: 'Health',
    backup: 'Backup',
  },
  groups: { queries: 'Queries', filter: 'Filter', system: 'System' },
  navigation: 'Pages',
  needsAttention: 'needs attention',
  skip: 'Skip to content',
  language: 'Language',
  languages: { auto: 'System language', en: 'English', de: 'Deutsch' },

  mark: {
    on: 'Protection on',
    paused: 'Paused',
    off: 'Protection off',
    lost: 'No connection',
    unknown: 'Connecting…',
  },

  connectionLost: 'Connection lost, reconnecting…',
  connectionLostMeans:
    'Sluice is not responding. This window shows the last known state and continues when Sluice answers again.',
  attention: 'Sluice is running, but something needs attention',
  details: 'Details',

  noConnection: 'No connection to Sluice',
  noConnectionMeans: 'This page loads as soon as Sluice answers again.',
  notLoaded: 'Could not be loaded',
  tryAgain: 'Try again',
  loading: 'Loading…',

  cancel: 'Cancel',
  saving: 'Saving…',
  close: 'Close',
  undo: 'Undo',
  dismiss: 'Dismiss',

  access: 'Access',
  accessToken: 'Access token',
  accessNeeded: {
    before: 'This Sluice needs an access token. Open the link that',
    after: 'prints on the machine it runs on, or enter the token here.',
  },
  continue: 'Continue',
  tokenLifetime: 'The token is kept until you close this tab.',
};

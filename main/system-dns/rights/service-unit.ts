/**
 * The unit with which systemd runs Sluice for the whole system. resources/systemd/sluice.service is
 * the same with /usr/bin/sluice; a test compares them.
 */

/**
 * What the service may not do. V8 makes code at run time, which MemoryDenyWriteExecute would
 * forbid. /etc and /run are written for resolv.conf, which is replaced by renaming; capabilities:
 * port 53, a resolv.conf that belongs to somebody or is immutable, and who holds port 53.
 */
export const HARDENING: readonly string[] = [
  'NoNewPrivileges=yes',
  'CapabilityBoundingSet=CAP_NET_BIND_SERVICE CAP_DAC_OVERRIDE CAP_FOWNER CAP_CHOWN CAP_LINUX_IMMUTABLE CAP_SYS_PTRACE',
  'AmbientCapabilities=CAP_NET_BIND_SERVICE',
  'ProtectSystem=strict',
  'ReadWritePaths=/etc /run',
  'ProtectHome=yes',
  'PrivateTmp=yes',
  'PrivateDevices=yes',
  'ProtectHostname=yes',
  'ProtectClock=yes',
  'ProtectKernelTunables=yes',
  'ProtectKernelModules=yes',
  'ProtectKernelLogs=yes',
  'ProtectControlGroups=yes',
  'RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK',
  'RestrictNamespaces=yes',
  'RestrictRealtime=yes',
  'RestrictSUIDSGID=yes',
  'LockPersonality=yes',
  'SystemCallArchitectures=native',
  'SystemCallFilter=@system-service @pkey',
  'SystemCallErrorNumber=EPERM',
  'KeyringMode=private',
  'UMask=0077',
];

/** @param command  starts the program without a window; @param isElectron  by Electron's runtime */
export function serviceUnit(command: string, isElectron: boolean): string[] {
  return [
    ...['[Unit]', 'Description=Sluice DNS filtering gateway'],
    'After=network-pre.target systemd-resolved.service NetworkManager.service',
    ...['[Service]', 'Type=exec'],
    ...(isElectron ? ['Environment=ELECTRON_RUN_AS_NODE=1'] : []),
    `ExecStart=${command} run --data-dir /var/lib/sluice`,
    `ExecStopPost=${command} restore`,
    ...['KillMode=mixed', 'TimeoutStopSec=25', 'Restart=on-failure', 'RestartSec=2'],
    ...['StateDirectory=sluice', 'StateDirectoryMode=0700', ...HARDENING],
    ...['[Install]', 'WantedBy=multi-user.target'],
  ];
}

/** What a unit of systemd is made from. Paths are absolute. */
export interface UnitFacts {
  /** The program, as it is typed: a link to it is followed at each start and reload. */
  program: string;
  user: string;
  dataDir: string;
  /** Where quarterdeck.toml is read from. */
  configDir: string;
  /** Empty: all that the settings say. `%i` in a template. */
  roles: string;
}

/** What deploy/systemd is made from, and docs/operating.md describes. */
export const usualFacts: UnitFacts = {
  program: '/opt/quarterdeck/current/quarterdeck',
  user: 'quarterdeck',
  dataDir: '/var/lib/quarterdeck',
  configDir: '/etc/quarterdeck',
  roles: '',
};

/**
 * The unit. systemd starts the parent (bin/parent.mjs), which says when the server is ready. A stop reaches the parent alone, since the server's
 * PostgreSQL has to outlive its last statement. Refusals are not repeated (src/kernel/errors.ts): only a port, a directory or a database may
 * come back by itself.
 */
export const renderUnit = (facts: UnitFacts): string => `[Unit]
Description=Quarterdeck${facts.roles === '' ? '' : ` (${facts.roles})`}
Wants=network-online.target
After=network-online.target postgresql.service

[Service]
Type=notify
NotifyAccess=all
User=${facts.user}
WorkingDirectory=${escapePath(facts.configDir)}
Environment=${quote(`QUARTERDECK_DATA=${facts.dataDir}`)}
EnvironmentFile=-${escapePath(facts.configDir)}/environment
ExecStart=${quote(facts.program)} serve${facts.roles === '' ? '' : ` --roles ${facts.roles}`}
ExecReload=${quote(facts.program)} admin reload --pid $MAINPID
KillMode=mixed
Restart=on-failure
RestartSec=5
RestartPreventExitStatus=2 5 7 8 9 10 11 12
# A first start makes a database, and one after an upgrade migrates it.
TimeoutStartSec=1h
TimeoutStopSec=2min
# The kernel may end a program of a cluster for its memory: the server starts it again.
OOMPolicy=continue
LimitNOFILE=65536
${directoriesOf(facts.dataDir)}

# Ports below 1024, such as 25 and 443.
AmbientCapabilities=CAP_NET_BIND_SERVICE
CapabilityBoundingSet=CAP_NET_BIND_SERVICE
NoNewPrivileges=yes
ProtectSystem=strict
ProtectHome=${isBelowHome(facts.dataDir) || isBelowHome(facts.program) ? 'no' : 'yes'}
PrivateTmp=yes
PrivateDevices=yes
ProtectProc=invisible
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
RestrictNamespaces=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
LockPersonality=yes
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallFilter=~@privileged @resources
SystemCallErrorNumber=EPERM
UMask=0077

[Install]
WantedBy=multi-user.target
`;

/** Below /var/lib systemd makes the directory for the user; elsewhere it is made writable, and must be there. */
function directoriesOf(dataDir: string): string {
  const state = /^\/var\/lib\/(.+)$/.exec(dataDir)?.[1];
  if (state === undefined) return `ReadWritePaths=${quote(dataDir)}`;
  return `StateDirectory=${quote(state)}\nStateDirectoryMode=0700`;
}

const isBelowHome = (path: string) => /^\/(home|root|run\/user)\//.test(path);

/** A percent sign begins a specifier; the one of a template stands in the roles alone. */
const escapePath = (path: string) => path.replaceAll('%', '%%');

/** A word of systemd: quoted if it needs that. */
const quote = (word: string) => {
  const escaped = escapePath(word).replaceAll('$', '$$$$');
  return /^[\w@%+=:,./$-]+$/.test(escaped) ? escaped : `"${escaped.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;
};

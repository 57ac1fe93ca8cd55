import { join, resolve } from 'node:path';
import type { Command } from 'commander';
import { readConfig } from '../kernel/config.ts';
import { exitCodes, Stop } from '../kernel/errors.ts';
import { build } from '../kernel/version.ts';
import { environmentOf, proberProgram } from '../protocols/prober-settings.ts';

interface ProbeOptions {
  server?: string;
  token?: string;
  data?: string;
  canary: string[];
}

const help = `
Checks the monitors of one vantage from this machine, for a Quarterdeck server elsewhere. On the server,
\`quarterdeck admin agents\` names vantages and makes their tokens; several probers may share one.

The token is better given as QUARTERDECK_PROBE_TOKEN: everybody on this machine can see arguments.
QUARTERDECK_DNS_SERVERS, QUARTERDECK_ALLOW_PRIVATE_CIDRS, QUARTERDECK_UPTIME_CANARIES and QUARTERDECK_LOG_LEVEL
mean here what they mean for a server; NODE_EXTRA_CA_CERTS names further authorities to trust.

While the server is away checks go on, and what they saw is kept for 24 hours or 64 MiB. SIGTERM and Ctrl-C
let checks finish, deliver or keep what they saw, and end with exit code 0.

Example:
  QUARTERDECK_PROBE_TOKEN=qd_agent_… quarterdeck probe --server https://quarterdeck.example.org \\
    --data /var/lib/quarterdeck-probe --canary 192.0.2.1:443 --canary 198.51.100.1:443
`;

export function registerProbe(program: Command) {
  program
    .command('probe')
    .description('check monitors from this machine, for a server elsewhere')
    .option('--server <url>', 'the server to work for')
    .option('--token <token>', 'the token of this agent; default: $QUARTERDECK_PROBE_TOKEN')
    .option('--data <dir>', 'where undelivered results are kept; one directory for each prober (default: <QUARTERDECK_DATA>/probe)')
    .option(
      '--canary <host:port>',
      'watched to know whether this machine is cut off; give two or more',
      (each: string, all: string[]) => [...all, each],
      [] as string[],
    )
    .addHelpText('after', help)
    .action((options: ProbeOptions) => become(options));
}

/** Becomes the prober's program instead of loading it: a prober that runs for years need not carry the command line along. */
function become(options: ProbeOptions) {
  const { config } = readConfig(process.env, process.cwd());
  const settings = {
    server: options.server ?? usage('name the server with --server https://…'),
    token: (options.token ?? process.env.QUARTERDECK_PROBE_TOKEN) || usage('give the token of this agent in QUARTERDECK_PROBE_TOKEN'),
    bufferDir: resolve(options.data ?? join(config.data, 'probe')),
    dnsServers: config.dns_servers,
    allowPrivateCidrs: config.allow_private_cidrs,
    canaries: options.canary.length > 0 ? options.canary : config.uptime_canaries,
    logLevel: config.log_level,
    version: build,
    endWithStdin: false,
  };
  const env = { ...process.env, ...environmentOf(settings) };
  process.execve!(process.execPath, [process.execPath, ...process.execArgv, proberProgram], env);
}

const usage = (sentence: string): never => {
  throw new Stop(exitCodes.usage, `${sentence}; see quarterdeck probe --help`);
};

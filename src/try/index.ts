/**
 * `quarterdeck serve --try`: the world around the server, on loopback and inside its process. Nothing leaves this machine.
 *
 * Actors. dns.ts is the only name server: domains registered here publish what they should, and names below `.example` lead to this machine.
 * mail-sink.ts takes every message, of tenants and of the product. phone.ts is the SMS and voice provider, and the phone that rings.
 * echo.ts takes webhook deliveries and says which endpoint signed them. pages.ts shows all of it under /try, without script.
 *
 * Flow of a start. mark.ts refuses an external database, S3 and a directory with data in earnest, and marks the directory; without --try a
 * marked directory is refused. ports.ts finds free ports. `openTryWorld` starts the parts and returns the settings that point the server to
 * them; boot/try.ts starts the server with these and calls `connect` with what the parts ask it for.
 *
 * The way out is closed by the guard: `only=` in QUARTERDECK_ALLOW_PRIVATE_CIDRS allows loopback alone, for every use. Settings that bypass the
 * guard (relay, smart host, payment, heartbeat, provider, pull-through registries) are replaced here.
 *
 * Everything is in memory and bounded; it is gone when the server stops. What the server itself keeps is in its data directory.
 */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Config, ExplainedSetting } from '../kernel/config.ts';
import type { RawHandler } from '../kernel/http/plane.ts';
import { type ListeningSockets, ownSockets } from '../kernel/lifecycle/listening-sockets.ts';
import type { Logger } from '../kernel/log.ts';
import { loadOrCreateCertificate } from '../kernel/x509/certificate.ts';
import { sinkHost, startDns } from './dns.ts';
import { makeEcho } from './echo.ts';
import type { TryHost } from './host.ts';
import { makeInbox, startMailSink } from './mail-sink.ts';
import { claimTryDirectory, refuseOutsideStores } from './mark.ts';
import { startPhone } from './phone.ts';
import { choosePorts } from './ports.ts';
import { routesOf } from './routes.ts';

export interface TryWorld {
  /** The settings with which the server uses this world. */
  config: Config;
  /** Serves /try, and puts the banner on every page. */
  raw: RawHandler;
  connect(host: TryHost): void;
  stop(): Promise<void>;
}

/** Loopback and nothing else, for every use. */
const loopbackOnly = 'only=127.0.0.0/8,::1/128';

const mailHost = 'mail.try.example';

/** Refuses what is not for trying, then starts the parts. */
export async function openTryWorld(
  config: Config,
  explained: readonly ExplainedSetting[],
  log: Logger,
  sockets: Pick<ListeningSockets, 'isLeft'> = ownSockets,
): Promise<TryWorld> {
  refuseOutsideStores(config);
  await claimTryDirectory(config.data);
  let host: TryHost | undefined;
  const [inbox, echo] = [makeInbox(), makeEcho()];
  const own = join(config.data, 'try');
  await mkdir(own, { recursive: true, mode: 0o700 });
  const certificate = await loadOrCreateCertificate(own, sinkHost);
  const [dns, sink, phone, ports] = await Promise.all([
    startDns(async (name) => (await host?.recordsAt(name)) ?? []),
    startMailSink(inbox, certificate, log),
    startPhone(async (url, fields, headers) => {
      if (!host || !url.startsWith(`${host.url()}/`)) throw new Error('the phone calls back this server alone');
      return host.post(url, fields, headers);
    }),
    choosePorts(config, explained, sockets),
  ]);
  await tellPorts(own, ports);
  return {
    config: {
      ...config,
      ...ports,
      dns_servers: [`127.0.0.1:${dns.port}`],
      smtp_out_port: sink.port,
      smtp_relay: `smtp://127.0.0.1:${sink.port}?ignoreTLS=true`,
      mail_from: 'Quarterdeck <quarterdeck@quarterdeck.example>',
      mail_host: mailHost,
      allow_private_cidrs: loopbackOnly,
      twilio_url: phone.url,
      ...outsideClosed,
    },
    raw: routesOf({ inbox, echo, phone, host: () => host, log }),
    connect: (given) => {
      host = given;
    },
    stop: async () => {
      dns.close();
      await Promise.all([sink.stop(), phone.stop()]);
    },
  };
}

/** Mail programs are pointed to the doors by these files: the usual port may belong to another server. */
async function tellPorts(
  folder: string,
  { smtp_submission, smtp_inbound }: Pick<Config, 'smtp_submission' | 'smtp_inbound'>,
): Promise<void> {
  for (const [name, { host, port }] of [['submission', smtp_submission] as const, ['mx', smtp_inbound] as const])
    await writeFile(join(folder, name), `${host}:${port}\n`, { mode: 0o600 });
}

/** Settings that would lead outside past the guard, or that name another place for this server. */
const outsideClosed = {
  email_smarthost: '',
  payment_url: '',
  heartbeat_url: '',
  registry_upstreams: [],
  uptime_canaries: [],
  public_url: '',
  status_url: '',
  cluster_domain: '',
  cluster_mirror: '',
  tls_cert: '',
  tls_key: '',
  acme: '',
  http_listen: undefined,
} satisfies Partial<Config>;

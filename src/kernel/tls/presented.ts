import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Config } from '../config.ts';
import { guarded } from '../faults/guarded.ts';
import type { Logger } from '../log.ts';
import { type Certificate, readConfigured, watchConfigured } from '../x509/certificate.ts';

/** Where ordered certificates come from. Its answers are from memory where possible, and it keeps the last ones while the database is away. */
export interface CertificateSource {
  /** Whether there is a certificate for this name; no read. */
  has(name: string): boolean;
  /** The same object until it is replaced. */
  find(name: string): Promise<Certificate | undefined>;
  /** What an authority expects at /.well-known/acme-challenge/{token}. */
  findHttpProof(token: string): Promise<string | undefined>;
  /** The certificate that proves this name by TLS-ALPN-01. */
  findTlsProof(name: string): Promise<Certificate | undefined>;
  /** Called with each name whose certificate was replaced. */
  onReplaced(act: (name: string) => void): void;
}

/** What a listener needs to complete handshakes. */
export interface TlsContexts {
  /** For clients that name no host, or one without a certificate of its own. */
  context(): SecureContext;
  /** For `SNICallback`. Without a context the default one is used. */
  chooseByName(name: string, done: (error: Error | null, context?: SecureContext) => void): void;
}

/** The certificates of one listener. */
export interface Presenting extends TlsContexts {
  /** The default. */
  certificate(): Certificate;
  /** Called with each new default. */
  onRenewed(act: (certificate: Certificate) => void): void;
  stop(): void;
}

/** For a listener whose one certificate never changes. */
export const alwaysPresent = (certificate: Certificate): TlsContexts => ({
  context: () => contextOf(certificate),
  chooseByName: (_name, done) => done(null),
});

export interface Presented {
  /** Certificates are taken from here, also by listeners that are open already. */
  prefer(source: CertificateSource): void;
  readonly source: CertificateSource | undefined;
  /** For a listener that is `host` by default. `fallback` makes a certificate for as long as there is no better one. */
  open(host: string, fallback: () => Certificate | Promise<Certificate>): Promise<Presenting>;
  /** Whether the ports are open: before that, no authority could check a proof. */
  readonly isListening: boolean;
  /** Called by the start, once every port is open. */
  markListening(): void;
  onListening(act: () => void): void;
}

export interface PresentedOptions {
  config: Config;
  log: Logger;
}

export function makePresented({ config, log }: PresentedOptions): Presented {
  const state: PresentedState = { config, log, source: undefined, replacedListeners: [], warnedAt: Number.NEGATIVE_INFINITY };
  const listeningActs: (() => void)[] = [];
  let isListening = false;
  return {
    get source() {
      return state.source;
    },
    prefer(source) {
      state.source = source;
      source.onReplaced((name) => {
        for (const act of state.replacedListeners) act(name);
      });
    },
    open: (host, fallback) => openPresenting(state, host, fallback),
    get isListening() {
      return isListening;
    },
    markListening() {
      isListening = true;
      for (const act of listeningActs.splice(0)) act();
    },
    onListening(act) {
      if (isListening) act();
      else listeningActs.push(act);
    },
  };
}

interface PresentedState {
  config: Config;
  log: Logger;
  source: CertificateSource | undefined;
  replacedListeners: ((name: string) => void)[];
  /** When the log last said that a certificate cannot be read: every handshake would say it. */
  warnedAt: number;
}

const warnEveryMs = 60_000;

/** Building one costs a third of a millisecond and some KiB, so each is built once. */
const contexts = new WeakMap<Certificate, SecureContext>();

function contextOf(certificate: Certificate): SecureContext {
  const known = contexts.get(certificate);
  if (known) return known;
  const { cert, key } = certificate;
  const made = createSecureContext({ cert, key, minVersion: 'TLSv1.2', honorCipherOrder: true });
  contexts.set(certificate, made);
  return made;
}

async function openPresenting(
  state: PresentedState,
  host: string,
  fallback: () => Certificate | Promise<Certificate>,
): Promise<Presenting> {
  const { config, log } = state;
  let configured = config.tls_cert ? readConfigured(config) : undefined;
  const isConfigured = () => configured !== undefined && namesHost(configured, host);
  const choose = async () => (isConfigured() ? configured! : ((await findOrdered(state, host)) ?? configured ?? fallback()));
  let current = await choose();
  contextOf(current); // a certificate that is not usable ends the start here
  const renewed: ((certificate: Certificate) => void)[] = [];
  const apply = (certificate: Certificate) => {
    contextOf(certificate);
    current = certificate;
    for (const act of renewed) act(certificate);
  };
  const onReplaced = (name: string) => {
    if (name !== host || isConfigured()) return;
    findOrdered(state, host)
      .then((certificate) => certificate && apply(certificate))
      .catch((error) => log.error({ err: error, host }, 'an ordered certificate is not usable; the one before stays'));
  };
  state.replacedListeners.push(onReplaced);
  const unfollow = watchConfigured(config, log, (changed) => {
    contextOf(changed); // throws for a certificate that is not usable; the one before stays
    configured = changed;
    choose()
      .then(apply)
      .catch((error) => log.error({ err: error, host }, 'the changed TLS certificate is not usable; the old one stays'));
  });
  const choosing = async (name: string): Promise<SecureContext | undefined> => {
    if (configured && namesHost(configured, name)) return contextOf(configured);
    if (!state.source?.has(name)) return undefined;
    const ordered = await findOrdered(state, name);
    return ordered && contextOf(ordered);
  };
  return {
    certificate: () => current,
    context: () => contextOf(current),
    chooseByName: guarded('tls.choose-by-name', undefined, (name, done) => {
      choosing(name.toLowerCase()).then(
        (chosen) => done(null, chosen),
        () => done(null),
      );
    }),
    onRenewed: (act) => void renewed.push(act),
    stop() {
      unfollow();
      const at = state.replacedListeners.indexOf(onReplaced);
      if (at >= 0) state.replacedListeners.splice(at, 1);
    },
  };
}

/** Undefined: there is none, or it cannot be read or used now. Then the listener presents what it has. */
async function findOrdered(state: PresentedState, name: string): Promise<Certificate | undefined> {
  try {
    const found = await state.source?.find(name);
    if (found) contextOf(found);
    return found;
  } catch (error) {
    if (performance.now() - state.warnedAt > warnEveryMs) {
      state.warnedAt = performance.now();
      state.log.warn({ err: error, name }, 'the certificate of a name cannot be used; another is presented');
    }
    return undefined;
  }
}

const parsed = new WeakMap<Certificate, X509Certificate>();

function namesHost(certificate: Certificate, name: string): boolean {
  const known = parsed.get(certificate) ?? new X509Certificate(certificate.cert);
  parsed.set(certificate, known);
  return known.checkHost(name) !== undefined;
}

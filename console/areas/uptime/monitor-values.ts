import type { UptimeHttpInput, UptimeMonitor, UptimeTcpInput } from '../../../sdk/browser.ts';
import { bytesOf, fromBase64, textOf, toBase64 } from './bytes.ts';

// What the form of a monitor holds while it is typed, and what the API takes. Pure.

export interface MonitorValues {
  name: string;
  kind: 'http' | 'tcp';
  serviceId: string;
  enabled: boolean;
  intervalSeconds: string;
  vantages: readonly string[];
  timeoutSeconds: string;
  confirmations: string;
  /** Empty: the majority. */
  quorum: string;
  url: string;
  method: 'GET' | 'HEAD' | 'POST';
  headers: string;
  body: string;
  expectStatus: string;
  expectBodyContains: string;
  followRedirects: boolean;
  host: string;
  port: string;
  tls: boolean;
  send: string;
  expectPrefix: string;
}

/** May hold secrets: no draft keeps them. */
export const secretFields = ['headers', 'body', 'send'] as const;

export const freshValues: MonitorValues = {
  name: '',
  kind: 'http',
  serviceId: '',
  enabled: true,
  intervalSeconds: '60',
  vantages: ['local'],
  timeoutSeconds: '10',
  confirmations: '2',
  quorum: '',
  url: '',
  method: 'GET',
  headers: '',
  body: '',
  expectStatus: '',
  expectBodyContains: '',
  followRedirects: true,
  host: '',
  port: '',
  tls: false,
  send: '',
  expectPrefix: '',
};

export function valuesOf({ http, tcp, ...monitor }: UptimeMonitor): MonitorValues {
  return {
    ...freshValues,
    name: monitor.name,
    kind: monitor.kind as 'http' | 'tcp',
    serviceId: monitor.serviceId ?? '',
    enabled: monitor.enabled,
    intervalSeconds: String(monitor.intervalSeconds),
    vantages: monitor.vantages,
    timeoutSeconds: String(monitor.timeoutMs / 1000),
    confirmations: String(monitor.downCondition.confirmations),
    quorum: monitor.downCondition.quorum === majorityOf(monitor.vantages.length) ? '' : String(monitor.downCondition.quorum),
    ...(http && {
      url: http.url,
      method: http.method ?? 'GET',
      headers: Object.entries(http.headers ?? {})
        .map(([name, value]) => `${name}: ${value}`)
        .join('\n'),
      body: http.bodyBase64 ? new TextDecoder().decode(fromBase64(http.bodyBase64)) : '',
      expectStatus: http.expectStatus?.join(', ') ?? '',
      expectBodyContains: http.expectBodyContains ?? '',
      followRedirects: http.followRedirects ?? true,
    }),
    ...(tcp && {
      host: tcp.host,
      port: String(tcp.port),
      tls: tcp.tls ?? false,
      send: tcp.sendBase64 ? textOf(fromBase64(tcp.sendBase64)) : '',
      expectPrefix: tcp.expectPrefixBase64 ? textOf(fromBase64(tcp.expectPrefixBase64)) : '',
    }),
  };
}

export const majorityOf = (vantages: number): number => Math.floor(vantages / 2) + 1;

/** A mistake that the form finds by itself, at its field. */
export class FieldProblem extends Error {
  field: keyof MonitorValues;
  constructor(field: keyof MonitorValues, problem: string) {
    super(problem);
    this.field = field;
  }
}

/** Where and how it checks: what a trial takes too. */
export function targetInput(values: MonitorValues): { kind: 'http'; http: UptimeHttpInput } | { kind: 'tcp'; tcp: UptimeTcpInput } {
  return values.kind === 'http' ? { kind: 'http', http: httpInput(values) } : { kind: 'tcp', tcp: tcpInput(values) };
}

function httpInput({ url, method, headers, body, expectStatus, expectBodyContains, followRedirects }: MonitorValues): UptimeHttpInput {
  if (!url.trim()) throw new FieldProblem('url', 'An address is needed, such as https://shop.example/health');
  const expected = expectStatus.split(/[\s,]+/).filter(Boolean);
  return {
    url: url.trim(),
    method,
    ...(headers.trim() ? { headers: headersOf(headers) } : {}),
    ...(method === 'POST' && body ? { bodyBase64: toBase64(new TextEncoder().encode(body)) } : {}),
    ...(expected.length ? { expectStatus: expected } : {}),
    ...(expectBodyContains && method !== 'HEAD' ? { expectBodyContains } : {}),
    ...(followRedirects ? {} : { followRedirects }),
  };
}

function headersOf(text: string): Record<string, string> {
  const found: Record<string, string> = {};
  for (const line of text.split('\n').filter((part) => part.trim())) {
    const at = line.indexOf(':');
    if (at < 1) throw new FieldProblem('headers', `Write “Name: value”, one a line; found “${line.trim()}”`);
    found[line.slice(0, at).trim()] = line.slice(at + 1).trim();
  }
  return found;
}

function tcpInput({ host, port, tls, send, expectPrefix }: MonitorValues): UptimeTcpInput {
  if (!host.trim()) throw new FieldProblem('host', 'A host is needed, such as db.example');
  return {
    host: host.trim(),
    port: number('port', port, 'A port from 1 to 65,535 is needed'),
    ...(tls ? { tls } : {}),
    ...(send ? { sendBase64: toBase64(bytesOf(send)) } : {}),
    ...(expectPrefix ? { expectPrefixBase64: toBase64(bytesOf(expectPrefix)) } : {}),
  };
}

function number(field: keyof MonitorValues, text: string, problem: string): number {
  const value = Number(text.trim().replace(',', '.'));
  if (!text.trim() || !Number.isFinite(value)) throw new FieldProblem(field, problem);
  return value;
}

export const timeoutMsOf = ({ timeoutSeconds }: MonitorValues): number =>
  Math.round(number('timeoutSeconds', timeoutSeconds, 'A number of seconds is needed, such as 10') * 1000);

/** A whole monitor, for `createMonitor`. */
export function createInput(values: MonitorValues) {
  if (!values.name.trim()) throw new FieldProblem('name', 'A name is needed');
  if (!values.vantages.length) throw new FieldProblem('vantages', 'Choose at least one vantage');
  return {
    name: values.name.trim(),
    ...targetInput(values),
    intervalSeconds: Number(values.intervalSeconds),
    vantages: [...values.vantages],
    timeoutMs: timeoutMsOf(values),
    downCondition: {
      confirmations: Number(values.confirmations),
      quorum: values.quorum ? Number(values.quorum) : majorityOf(values.vantages.length),
    },
    ...(values.serviceId ? { serviceId: values.serviceId } : {}),
    ...(values.enabled ? {} : { enabled: false }),
  };
}

/** What differs from how the form began, for `updateMonitor`: another target starts the state over, so an equal one is not sent. */
export function changesOf(before: MonitorValues, after: MonitorValues) {
  const { kind: _, serviceId, ...whole } = createInput(after);
  const was = createInput({ ...before, name: before.name || '-' }) as Record<string, unknown>;
  const changes: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(whole)) if (JSON.stringify(value) !== JSON.stringify(was[name])) changes[name] = value;
  if (before.serviceId !== after.serviceId) changes['serviceId'] = serviceId ?? null;
  if (before.enabled !== after.enabled) changes['enabled'] = after.enabled;
  return changes;
}

/** What each part of the form is given. */
export interface PartProps {
  values: MonitorValues;
  set(changed: Partial<MonitorValues>): void;
  errorOf(field: keyof MonitorValues): string | undefined;
}

import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { invalid } from '../../../kernel/errors.ts';
import { checkedHeaders, isThirdPartyMailServer, mailPort } from '../../../kernel/guard/index.ts';
import { resolveMasks, type Target } from '../rules/masked-target.ts';
import { type Targets, targetComplaint } from '../rules/target.ts';
import { vantages as allVantages } from '../store/observations.ts';

const use = 'uptime';

/** Replaces every mask in the request by the stored value. Callers are shown masks and may send them back. */
export function fillIn(given: Targets, stored?: Target): Targets {
  const filled = resolveMasks(given, stored);
  return 'complaint' in filled ? invalid(filled.complaint) : filled.targets;
}

/** What a monitor may check. Names are not resolved here: the guard judges their addresses at every check. */
export function checkTarget({ guard }: App, targets: Targets): void {
  const complaint = targetComplaint(targets);
  if (complaint) invalid(complaint);
  const { http, tcp } = targets;
  if (http) {
    checkedHeaders(http.headers ?? {});
    guard.checkUrl(use, http.url);
    const { hostname, port } = new URL(http.url);
    checkPort(hostname.replace(/^\[|\]$/g, ''), Number(port), 'http.url');
  }
  if (tcp) {
    guard.checkHost(use, tcp.host, tcp.port);
    checkPort(tcp.host, tcp.port, 'tcp.port');
  }
}

function checkPort(host: string, port: number, field: string) {
  if (!isThirdPartyMailServer(use, host, port)) return;
  invalid(`${field} names port ${mailPort}, which is for mail between servers; check the submission port 587 or 465 instead`);
}

export function checkInterval({ config }: App, seconds: number): void {
  const offered = config.uptime_intervals;
  if (!offered.includes(seconds)) invalid(`intervalSeconds ${seconds} is not offered; use one of ${offered.join(', ')}`);
}

export async function checkVantages(tx: Tx, wanted: readonly string[]): Promise<void> {
  const twice = wanted.find((id, i) => wanted.indexOf(id) !== i);
  if (twice !== undefined) invalid(`vantages has ${twice} twice; name each once`);
  const known = await allVantages(tx);
  for (const id of wanted) {
    const found = known.find((v) => v.id === id) ?? invalid(`vantages has ${id}, which is not offered; use ${listed(known)}`);
    if (!found.available)
      invalid(`vantages has ${id}, which does not report at the moment; use ${listed(known.filter((v) => v.available))}`);
  }
}

const listed = (vantages: { id: string }[]) =>
  vantages.length
    ? `one of ${vantages.map((v) => v.id).join(', ')}`
    : 'one that does: none does now, so ask the operator to start a prober';

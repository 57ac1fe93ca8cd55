import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { freePort } from '../harness/free-port.ts';
import { eventually } from '../harness/process.ts';

// Debian's Prometheus and Alertmanager, each as a process of the test's own on loopback.

export interface Target {
  address: string;
  up: boolean;
}

/** Something to scrape that can be broken. */
export async function target(t: TestContext): Promise<Target> {
  const its: Target = { address: '', up: true };
  const server = createServer((_request, response) => response.writeHead(its.up ? 200 : 500).end(its.up ? 'works 1\n' : '')).listen(
    0,
    '127.0.0.1',
  );
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  its.address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return its;
}

/** A program of Debian's, once it says that it is well; it ends with the test. */
export async function program(t: TestContext, command: string, args: string[], healthy: string): Promise<void> {
  const child = spawn(command, args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text) => (said = (said + text).slice(-4_000)));
  const ended = once(child, 'exit');
  t.after(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  await eventually(async () => {
    if (child.exitCode !== null) throw new Error(`${command} ended: ${said}`);
    return (await fetch(healthy)).ok;
  });
}

export interface Prometheus {
  /** Where alerts go: an Alertmanager, or a Quarterdeck alert source. */
  to: { address: string; pathPrefix?: string; token?: string };
  targets: Target[];
}

export async function folderOf(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), 'qda-'));
  t.after(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }));
  return folder;
}

export async function startPrometheus(t: TestContext, { to, targets }: Prometheus): Promise<void> {
  const folder = await folderOf(t);
  const port = await freePort();
  await writeFile(
    join(folder, 'rules.yml'),
    `groups:
- name: tests
  rules:
  - alert: TargetDown
    expr: up{job="target"} == 0
    labels: {severity: critical}
    annotations: {summary: "{{ $labels.instance }} down", description: "up == 0 for {{ $labels.job }}"}
`,
  );
  await writeFile(
    join(folder, 'prometheus.yml'),
    `global: {scrape_interval: 1s, evaluation_interval: 1s}
alerting:
  alertmanagers:
  - static_configs: [{targets: ['${to.address}']}]
${to.pathPrefix ? `    path_prefix: ${to.pathPrefix}\n    authorization: {type: Bearer, credentials: ${to.token}}` : ''}
rule_files: [rules.yml]
scrape_configs:
- job_name: target
  static_configs: [{targets: [${targets.map((s) => `'${s.address}'`).join(', ')}]}]
`,
  );
  const listen = `127.0.0.1:${port}`;
  await program(
    t,
    'prometheus',
    [
      `--config.file=${folder}/prometheus.yml`,
      `--storage.tsdb.path=${folder}/data`,
      `--web.listen-address=${listen}`,
      '--rules.alert.resend-delay=2s',
    ],
    `http://${listen}/-/ready`,
  );
}

/** Its address. */
export async function startAlertmanager(t: TestContext, webhook: { url: string; token: string }): Promise<string> {
  const folder = await folderOf(t);
  const listen = `127.0.0.1:${await freePort()}`;
  await writeFile(
    join(folder, 'alertmanager.yml'),
    `route: {receiver: quarterdeck, group_by: [alertname], group_wait: 1s, group_interval: 2s, repeat_interval: 1h}
receivers:
- name: quarterdeck
  webhook_configs:
  - url: ${webhook.url}
    send_resolved: true
    http_config: {authorization: {type: Bearer, credentials: ${webhook.token}}}
`,
  );
  await program(
    t,
    'prometheus-alertmanager',
    [
      `--config.file=${folder}/alertmanager.yml`,
      `--storage.path=${folder}/data`,
      `--web.listen-address=${listen}`,
      '--cluster.listen-address=',
    ],
    `http://${listen}/-/ready`,
  );
  return listen;
}

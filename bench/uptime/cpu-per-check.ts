import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { spread } from './figure.ts';
import { cpuOf, foreign, program } from './programs.ts';

const rounds = 5;
const listen = '127.0.0.1:19315';
const agent = new Agent({ keepAlive: true });

const probe = (url: string) =>
  new Promise<string>((resolve, reject) => {
    const asked = request(`http://${listen}/probe?module=http&target=${encodeURIComponent(url)}`, { agent }, (response) => {
      let text = '';
      response
        .setEncoding('utf8')
        .on('data', (part) => (text += part))
        .on('end', () => resolve(text))
        .on('error', reject);
    });
    asked.on('error', reject).end();
  });

async function probes(url: string, count: number, atOnce: number) {
  let left = count;
  const worker = async () => {
    while (left-- > 0) if (!(await probe(url)).includes('\nprobe_success 1\n')) throw new Error('blackbox_exporter does not pass');
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

/** CPU time of one check, ours and blackbox_exporter's in turns on the same target: the machine's mood hits both. */
export async function cpuPerCheck(): Promise<void> {
  const { first: target } = await program<{ http: number; https: number; hybrid: number; ca: string }>('target.ts');
  const ours = await program('our-checks.ts', Buffer.from(target.ca).toString('base64'));
  const dir = await mkdtemp(join(tmpdir(), 'qd-bench-bbe-'));
  try {
    await writeFile(join(dir, 'ca.pem'), target.ca);
    const config = `modules: { http: { prober: http, timeout: 10s, http: { preferred_ip_protocol: ip4, tls_config: { ca_file: ${dir}/ca.pem } } } }\n`;
    await writeFile(join(dir, 'bbe.yml'), config);
    const args = [`--config.file=${dir}/bbe.yml`, `--web.listen-address=${listen}`];
    const ready = async () => (await fetch(`http://${listen}/-/healthy`)).ok;
    const theirs = await foreign('prometheus-blackbox-exporter', args, ready);
    if (theirs === null) console.log('(prometheus-blackbox-exporter is not installed: nothing to compare with)');

    for (const [what, url, count, atOnce, most] of [
      ['http check', `http://127.0.0.1:${target.http}/`, 3_000, 32, 0.5],
      ['https check, both with X25519', `https://127.0.0.1:${target.https}/`, 1_000, 16, 1.2],
      // No promise: where the target has it, ours makes the handshake of today's browsers, and blackbox_exporter the old one.
      ['https check, ours with ML-KEM', `https://127.0.0.1:${target.hybrid}/`, 1_000, 16, undefined],
    ] as const) {
      const spent: { us: number[]; them: number[] } = { us: [], them: [] };
      for (let round = 0; round < rounds; round++) {
        ours.child.stdin!.write(`${url} ${count} ${atOnce}\n`);
        spent.us.push(JSON.parse((await ours.lines.next()).value).micros / count);
        if (theirs === null) continue;
        await probes(url, Math.ceil(count / 8), atOnce);
        const before = cpuOf(theirs.pid!);
        await probes(url, count, atOnce);
        spent.them.push((cpuOf(theirs.pid!) - before) / count);
      }
      spread(`${what}: CPU, median of ${rounds} runs, least–most`, spent.us, 'µs');
      if (theirs === null) continue;
      spread('    blackbox_exporter, in turns', spent.them, 'µs');
      const ratios = spent.us.map((us, round) => us / spent.them[round]!);
      spread('    ours / blackbox_exporter', ratios, '', most ? `≤ ${most}` : '', most ? (ratio) => ratio <= most : undefined);
    }
  } finally {
    agent.destroy();
    await rm(dir, { recursive: true, force: true });
  }
}

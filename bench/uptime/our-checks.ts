// A process of its own: so many checks of one URL, so many at once, for each line `url count atOnce`; answers with CPU time and wall time.
import { createInterface } from 'node:readline';
import { createSecureContext } from 'node:tls';
import { makeGuard, parseAllow } from '../../src/kernel/guard/index.ts';
import { checkHttp } from '../../src/programs/prober/checks/check-http.ts';

const guard = makeGuard({ allow: parseAllow('127.0.0.0/8') });
const tls = { context: createSecureContext({ ca: Buffer.from(process.argv[2]!, 'base64') }) };

async function checks(url: string, count: number, atOnce: number) {
  const target = { url, method: 'GET' as const, headers: {}, followRedirects: true, expectStatus: ['2xx'] };
  let left = count;
  const worker = async () => {
    while (left-- > 0) {
      const seen = await checkHttp(guard, { target, timeoutMs: 10_000, userAgent: 'Quarterdeck-uptime/1', tls });
      if (seen.outcome !== 'pass') throw new Error(JSON.stringify(seen));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}

console.log('{}');
for await (const line of createInterface({ input: process.stdin })) {
  const [url, count, atOnce] = line.split(' ') as [string, string, string];
  await checks(url, Math.ceil(Number(count) / 8), Number(atOnce)); // warm
  const before = process.cpuUsage();
  await checks(url, Number(count), Number(atOnce));
  const { user, system } = process.cpuUsage(before);
  console.log(JSON.stringify({ micros: user + system }));
}

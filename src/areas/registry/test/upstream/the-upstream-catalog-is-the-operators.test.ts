import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { readConfig } from '../../../../kernel/config.ts';
import { hostOf, upstreamPath } from '../../rules/upstreams.ts';

const upstreams = (text: string) => readConfig({ QUARTERDECK_REGISTRY_UPSTREAMS: text }, '/nonexistent').config.registry_upstreams;

test('the upstream catalog is the operator’s', async (t) => {
  assert.deepEqual(upstreams('ghcr.io, mirror.example=https://docker.mirror.example/'), [
    { host: 'ghcr.io', endpoint: 'https://ghcr.io' },
    { host: 'mirror.example', endpoint: 'https://docker.mirror.example' },
  ]);
  assert.deepEqual(upstreams(''), []);
  for (const wrong of ['localhost', 'Ghcr.io', 'ghcr.io:443', 'a.b/c', 'x.example=ftp://x', 'x.example='])
    assert.throws(() => upstreams(wrong), /REGISTRY_UPSTREAMS is wrong/, wrong);

  const { owner, app } = await quarterdeck(t);
  const listed = (await owner.get('/registry/upstreams')).body.upstreams as { host: string; endpoint: string }[];
  assert.deepEqual(listed[0], { host: 'docker.io', endpoint: 'https://registry-1.docker.io' });
  for (const host of ['ghcr.io', 'quay.io', 'registry.k8s.io', 'gcr.io', 'public.ecr.aws', 'registry.gitlab.com', 'mcr.microsoft.com']) {
    assert.ok(
      listed.some((u) => u.host === host && u.endpoint === `https://${host}`),
      host,
    );
  }
  assert.equal(hostOf(app.config.registry_upstreams, 'docker.io/library/alpine'), 'docker.io');
  assert.equal(hostOf(app.config.registry_upstreams, 'docker.io'), undefined, 'a host alone names nothing');
  assert.equal(hostOf(app.config.registry_upstreams, 'team/docker.io/alpine'), undefined);
  assert.equal(upstreamPath('docker.io', 'docker.io/alpine'), 'library/alpine');
  assert.equal(upstreamPath('docker.io', 'docker.io/grafana/grafana'), 'grafana/grafana');
  assert.equal(upstreamPath('quay.io', 'quay.io/podman'), 'podman');
});

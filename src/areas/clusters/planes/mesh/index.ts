import type { IncomingMessage, ServerResponse } from 'node:http';
import type { CertificateIdentity } from '../../../../drivers/driver.ts';
import type { App } from '../../../../kernel/app.ts';
import { invalid, Refusal } from '../../../../kernel/errors.ts';
import { discardAfterAnswer, holdUntilAnswered, readBody } from '../../../../kernel/http/body.ts';
import { readJson } from '../../../../kernel/http/json.ts';
import { abortWhenCallerLeaves, refuseInJson } from '../../../../kernel/http/plane.ts';
import { askForPeers } from '../../engine/mesh/ask.ts';
import type { AskedCluster } from '../../engine/mesh/index.ts';
import { viewText } from '../../rules/mesh/peers.ts';
import { readPeerRequest } from '../../rules/mesh/request.ts';

// `POST /quarterdeck/mesh/v1` at a cluster's listener: a node shows its certificate, says its key, and hears of its peers once they have changed. No
// other certificate is taken, so a registration token or a person's configuration cannot change a key.

const path = '/quarterdeck/mesh/v1';
const limits = { maxBytes: 16_384, totalMs: 15_000 };

/** Beside the API of every cluster that this server holds. */
export const makeMeshDoor = (app: App) => ({
  owns: ({ url = '' }: IncomingMessage): boolean => url.startsWith(path) && url.split('?', 1)[0] === path,
  answer(cluster: AskedCluster, request: IncomingMessage, response: ServerResponse, identity: CertificateIdentity | undefined): void {
    answerNode(app, cluster, request, response, identity).catch((error) => {
      if (response.headersSent || response.destroyed) return void response.destroy();
      refuseInJson(request, response, error);
      discardAfterAnswer(request, response);
    });
  },
});

async function answerNode(
  app: App,
  { id, org, mesh }: AskedCluster,
  request: IncomingMessage,
  response: ServerResponse,
  identity: CertificateIdentity | undefined,
): Promise<void> {
  if (request.method !== 'POST') throw new Refusal(405, 'method_not_allowed', 'ask for peers with POST', { headers: { allow: 'POST' } });
  const node = nodeOf(identity);
  if (!mesh) throw new Refusal(404, 'not_found', 'an embedded cluster has no mesh');
  const held = holdUntilAnswered(app.bodies, { org }, response);
  const asked = readPeerRequest(readJson(await readBody(request, { ...limits, held }), { values: 250 }));
  if (typeof asked === 'string') return invalid(asked);
  const certificate = identity!.fingerprint;
  const view = await askForPeers(app, mesh, { id, org_id: org }, { node, certificate, ...asked }, abortWhenCallerLeaves(response));
  if (response.destroyed) return;
  if (!view) return void response.writeHead(204).end();
  const isText = request.headers.accept === 'text/plain';
  const body = isText ? viewText(view) : JSON.stringify(view);
  response
    .writeHead(200, {
      'content-type': isText ? 'text/plain; charset=utf-8' : 'application/json',
      'content-length': Buffer.byteLength(body),
      'cache-control': 'no-store',
    })
    .end(body);
}

const prefix = 'system:node:';

function nodeOf(identity: CertificateIdentity | undefined): string {
  if (!identity) throw new Refusal(401, 'unauthenticated', 'unauthenticated: show the node’s client certificate');
  const { commonName, organizations, isInternal } = identity;
  if (isInternal || !commonName.startsWith(prefix) || !organizations.includes('system:nodes'))
    throw new Refusal(403, 'forbidden', 'the client certificate is not that of a node; only nodes ask for peers');
  return commonName.slice(prefix.length);
}

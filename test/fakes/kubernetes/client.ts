import { readFileSync } from 'node:fs';
import https from 'node:https';
import { dirname, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { text as readText } from 'node:stream/consumers';
import { type Flags, refuse, requireFlag } from './flags.ts';
import type { KubeObject } from './objects.ts';

/** How the fake controller-manager and scheduler speak to their apiserver: as the kubeconfig says. */
export interface Client {
  ask(method: string, path: string, body?: KubeObject): Promise<{ status: number; body: KubeObject }>;
  /** Lists, then watches, for ever; again when it is cut. */
  follow(path: string, onObject: (object: KubeObject) => Promise<void>): void;
}

/** JSON or YAML: the few values that matter are found in both. */
function readKubeconfig(path: string) {
  const text = readFileSync(path, 'utf8');
  const find = (name: string) => new RegExp(`"?\\b${name}"?:\\s*"?([^"\\s,}]+)`).exec(text)?.[1];
  const findPem = (name: string) => {
    const data = find(`${name}-data`);
    const file = find(name);
    return data ? Buffer.from(data, 'base64') : file ? readFileSync(resolve(dirname(path), file)) : undefined;
  };
  const server = find('server') ?? refuse(`error loading config file "${path}": no server`);
  return {
    server,
    ca: findPem('certificate-authority'),
    cert: findPem('client-certificate'),
    key: findPem('client-key'),
    token: find('token'),
  };
}

export function openClient(flags: Flags): Client {
  const { token, ...config } = readKubeconfig(requireFlag(flags, 'kubeconfig'));
  const { server: named, ...tls } = config;
  const server = flags.get('master') ?? named;
  const agent = new https.Agent({ ...tls, keepAlive: true });
  const begin = (method: string, path: string, body?: KubeObject) =>
    new Promise<import('node:http').IncomingMessage>((fulfil, reject) => {
      const headers = { 'content-type': 'application/json', ...(token ? { authorization: `Bearer ${token}` } : {}) };
      const request = https.request(`${server}${path}`, { method, agent, headers }, fulfil);
      request.on('error', reject);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
  const ask: Client['ask'] = async (method, path, body) => {
    const response = await begin(method, path, body);
    const text = await readText(response);
    return { status: response.statusCode!, body: text.startsWith('{') ? JSON.parse(text) : text };
  };
  const followOnce = async (path: string, onObject: (object: KubeObject) => Promise<void>) => {
    const { status, body } = await ask('GET', path);
    if (status !== 200) return;
    for (const item of body.items) await onObject(item);
    const response = await begin('GET', `${path}?watch=true&resourceVersion=${body.metadata.resourceVersion}`);
    for await (const line of createInterface({ input: response })) await onObject(JSON.parse(line).object);
  };
  return {
    ask,
    follow(path, onObject) {
      const again = () => setTimeout(() => void followOnce(path, onObject).then(again, again), 100);
      void followOnce(path, onObject).then(again, again);
    },
  };
}

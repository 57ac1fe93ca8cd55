import { isIP } from 'node:net';
import type { App } from '../../../kernel/app.ts';

/** So many ports from the first one on are the clusters'. */
export const portCount = 1_000;

/** Where a cluster's listener is, and by which name the outside reaches it. */
export interface ClusterAddress {
  /** What is listened on. */
  listen: { host: string; port: number };
  /** With a domain, all clusters share the port, and this name tells them apart. */
  serverName: string | undefined;
  /** Names and addresses for its certificate. */
  hosts: string[];
  endpoint(port: number): string;
}

const isWildcard = (host: string) => host === '0.0.0.0' || host === '::' || host === '';

/** The name and a piece of the id: names repeat between organizations. */
export const serverNameOf = (cluster: { id: string; name: string }, domain: string): string =>
  `${cluster.name}-${cluster.id.slice(-8).toLowerCase()}.${domain}`;

export function clusterAddressOf({ config, publicUrl }: App, cluster: { id: string; name: string }): ClusterAddress {
  const { host, port } = config.cluster_listen;
  const domain = config.cluster_domain;
  if (domain) {
    const serverName = serverNameOf(cluster, domain);
    return { listen: { host, port }, serverName, hosts: [serverName], endpoint: (at) => `https://${serverName}:${at}` };
  }
  const outside = isWildcard(host) ? new URL(publicUrl() || 'http://127.0.0.1').hostname.replace(/^\[|\]$/g, '') : host;
  const hosts = [...new Set([outside, '127.0.0.1', 'localhost'])];
  return {
    listen: { host, port },
    serverName: undefined,
    hosts,
    endpoint: (at) => `https://${isIP(outside) === 6 ? `[${outside}]` : outside}:${at}`,
  };
}

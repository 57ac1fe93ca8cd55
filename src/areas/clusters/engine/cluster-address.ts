import { isIP } from 'node:net';
import type { App } from '../../../kernel/app.ts';

/** Size of the port range for clusters, from the configured port on. */
export const portCount = 1_000;

/** Where a cluster's listener is, and under which name clients reach it. */
export interface ClusterAddress {
  /** The address to listen on. */
  listen: { host: string; port: number };
  /** With a domain all clusters share one port, and TLS selects the cluster by this name. */
  serverName: string | undefined;
  /** Names and addresses of its serving certificate. */
  hosts: string[];
  endpoint(port: number): string;
}

const isWildcard = (host: string) => host === '0.0.0.0' || host === '::' || host === '';

/** The name and the end of the id, because names repeat between organizations. */
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

/** host:port of a mesh's UDP port, under the name by which nodes reach the cluster. */
export const meshEndpointOf = (address: ClusterAddress, port: number): string => `${new URL(address.endpoint(port)).hostname}:${port}`;

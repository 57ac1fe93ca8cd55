import { createHash } from 'node:crypto';
import type { Ask } from '../../../../drivers/driver.ts';
import { askFor, changeObject, listAll } from './ask.ts';

/** Services of type LoadBalancer; also the path of their watch. */
export const balancedServicesPath = `/api/v1/services?fieldSelector=${encodeURIComponent('spec.type=LoadBalancer')}`;
export const nodesPath = '/api/v1/nodes';
export const listBalancedServices = (ask: Ask): Promise<unknown[]> => listAll(ask, balancedServicesPath);

export interface ServiceName {
  namespace: string;
  name: string;
  uid: string;
}

const inNamespace = (namespace: string) => `/api/v1/namespaces/${encodeURIComponent(namespace)}`;
const servicePath = ({ namespace, name }: ServiceName) => `${inNamespace(namespace)}/services/${encodeURIComponent(name)}`;

/** The EndpointSlices of one Service; also the path of their watch. */
export const slicesPath = ({ namespace, name }: ServiceName) =>
  `/apis/discovery.k8s.io/v1/namespaces/${encodeURIComponent(namespace)}/endpointslices?labelSelector=${encodeURIComponent(`kubernetes.io/service-name=${name}`)}`;
export const listSlices = (ask: Ask, service: ServiceName): Promise<unknown[]> => listAll(ask, slicesPath(service));

/**
 * `VIP`: kube-proxy answers connections from inside the cluster itself. `Proxy`: they go by the load balancer, which a PROXY header needs.
 */
export interface Ingress {
  ip: string;
  ipMode: 'VIP' | 'Proxy';
}

/** Writes the address into the Service's status, or takes it out of it. False: the Service is gone, or another one has its name. */
export async function showAddress(ask: Ask, service: ServiceName, ingress: Ingress | undefined): Promise<boolean> {
  let isIts = false;
  const isThere = await changeObject(
    ask,
    servicePath(service),
    (object) => {
      isIts = object?.metadata?.uid === service.uid;
      if (!isIts) return undefined;
      const shown = object.status?.loadBalancer?.ingress;
      const wanted = ingress ? [ingress] : undefined;
      if (JSON.stringify(shown) === JSON.stringify(wanted)) return undefined;
      return { ...object, status: { ...object.status, loadBalancer: wanted ? { ingress: wanted } : {} } };
    },
    'status',
  );
  return isThere && isIts;
}

export interface ServiceEvent {
  type: 'Normal' | 'Warning';
  reason: string;
  message: string;
}

/** One Event for each sentence: its name follows from it, so that a server that begins anew tells nothing twice. Events expire after an hour. */
export async function tellService(ask: Ask, service: ServiceName, { type, reason, message }: ServiceEvent, at: Date): Promise<void> {
  const { namespace, name, uid } = service;
  const time = `${at.toISOString().slice(0, 19)}Z`;
  const mark = createHash('sha256').update(`${uid} ${reason} ${message}`).digest('hex').slice(0, 16);
  const event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: { name: `${name.slice(0, 200)}.${mark}`, namespace },
    involvedObject: { apiVersion: 'v1', kind: 'Service', namespace, name, uid },
    type,
    reason,
    message: message.slice(0, 1_000),
    source: { component: 'quarterdeck-load-balancer' },
    reportingComponent: 'quarterdeck-load-balancer',
    firstTimestamp: time,
    lastTimestamp: time,
    count: 1,
  };
  await askFor(ask, 'POST', `${inNamespace(namespace)}/events`, event, [403, 404, 409]);
}

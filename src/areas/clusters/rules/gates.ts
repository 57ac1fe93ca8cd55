import { compareVersions, type DriverName, minorOf, parseAgentVersion, parseVersion } from './versions.ts';

/** The fields of a worker node that the gates check. */
export interface NodeVersion {
  name: string;
  agentVersion: string;
}

const driverWords: Record<DriverName, string> = { embedded: 'the embedded control plane', process: 'Kubernetes’ own binaries' };

/** Why the control plane cannot change between these versions, whatever its nodes. Undefined: it can, or they are the same. */
export function refuseStep(from: string, to: string): string | undefined {
  const [current, target] = [parseVersion(from), parseVersion(to)];
  if (!current || !target) return `a cluster cannot go from ${from} to ${to}`;
  if (current.driver !== target.driver)
    return `${from} runs on ${driverWords[current.driver]} and ${to} on ${driverWords[target.driver]}; a cluster keeps its driver: create another one for it`;
  const difference = compareVersions(target, current);
  if (difference < 0)
    return `${to} is older than ${from}, and a control plane never goes back; restore a backup into a new cluster instead`;
  if (target.major !== current.major || target.minor - current.minor > 1)
    return `${to} is more than one minor version above ${from}; go to ${current.major}.${current.minor + 1} first`;
  return undefined;
}

/** How many minors a kubelet may be older than the control plane (version skew policy; stricter before 1.25). */
export const allowedSkew = (kubeletMinor: number): number => (kubeletMinor < 25 ? 2 : 3);

/** Nodes that are too old for the target, newer than it, or of unknown version; also nodes that are not ready. */
export function blockingNodes(to: string, nodes: readonly NodeVersion[]): NodeVersion[] {
  const target = parseVersion(to);
  if (!target) return [...nodes];
  return nodes.filter(({ agentVersion }) => {
    const kubelet = parseAgentVersion(agentVersion);
    if (!kubelet || kubelet.major !== target.major) return true;
    return kubelet.minor > target.minor || target.minor - kubelet.minor > allowedSkew(kubelet.minor);
  });
}

/** A refusal that names every blocking node. */
export function refuseSkew(to: string, nodes: readonly NodeVersion[]): string | undefined {
  const blocking = blockingNodes(to, nodes);
  if (blocking.length === 0) return undefined;
  const names = blocking.map(({ name, agentVersion }) => `${name} (${agentVersion || 'unknown version'})`).join(', ');
  const target = parseVersion(to);
  return `node skew: ${to} accepts agents up to 3 minor versions older (2 before 1.25) and none newer than ${target ? minorOf(target) : to}; bring these in range first: ${names}`;
}

import type { AnyArea, Host, Opened } from '../areas/area.ts';
import { bindPart, makePorts, type Ports } from '../areas/ports.ts';
import type { Operation } from '../identity/operation.ts';
import { exitCodes, Stop } from '../kernel/errors.ts';
import type { Plane } from '../kernel/http/plane.ts';
import type { ReadyJob, ReadyTask } from '../kernel/jobs/index.ts';
import { type Ending, stopEnding } from '../kernel/lifecycle/ending.ts';
import { listRoles, type Role } from '../kernel/roles.ts';

/** The areas of a running process, each with the state that its `open` made. */
export interface OpenAreas {
  /** The roles of this process that run something. */
  roles: ReadonlySet<Role>;
  operations: Operation<undefined>[];
  jobs: ReadyJob[];
  tasks: ReadyTask[];
  planes: Plane[];
  opened: { area: AnyArea; opened: Opened<unknown> }[];
  /** The state of one of them. */
  own<Own>(area: { name: string; open?: (host: Host) => Opened<Own> | Promise<Opened<Own>> }): Own;
  stop(ending: Ending): Promise<void>;
}

/** Opens them in order; what fails stops those before it. */
export async function openAreas(areas: readonly AnyArea[], lent: Omit<Host, 'ports'>): Promise<OpenAreas> {
  const ports = makePorts();
  const host: Host = { ...lent, ports };
  const opened: OpenAreas['opened'] = [];
  const stop = async (ending: Ending) => {
    for (const { area, opened: made } of opened.splice(0).reverse())
      await made.stop?.(ending).catch((error) => host.app.log.error({ err: error, area: area.name }, 'an area did not stop cleanly'));
  };
  try {
    for (const area of areas) {
      const made: Opened<unknown> = area.open ? await area.open(host) : { own: undefined };
      opened.push({ area, opened: made });
      fillPorts(ports, area, made.own);
    }
    return {
      roles: rolesThatRun(opened, host.roles),
      operations: opened.flatMap(({ area, opened: { own } }) => area.operations.map((o) => bound(o, 'handle', own))),
      jobs: opened.flatMap(({ area, opened: { own } }) => (area.jobs ?? []).map((j) => bound(j, 'run', own))),
      tasks: opened.flatMap(({ area, opened: { own } }) => (area.tasks ?? []).map((t) => bound(t, 'run', own))),
      planes: opened.flatMap(({ opened: { planes = [] } }) => planes),
      opened,
      own: ({ name }) => opened.find(({ area }) => area.name === name)?.opened.own as never,
      stop,
    };
  } catch (error) {
    await stop(stopEnding);
    throw error;
  }
}

function fillPorts(ports: Ports, { name, overview = [], search = [], story = [] }: AnyArea, own: unknown) {
  for (const part of overview) ports.overview.push(bindPart(name, part, own as never));
  for (const part of search) ports.search.push(bindPart(name, part, own as never));
  for (const part of story) ports.story.push(bindPart(name, part, own as never));
}

/** Hands an operation, a job or a task the state of its area. */
const bound = <T extends object, K extends keyof T, Ready>(declared: T, act: K, own: unknown): Ready => {
  const perform = declared[act] as (input: unknown, own: unknown) => unknown;
  return { ...declared, [act]: (input: unknown) => perform(input, own) } as Ready;
};

/** A process whose roles run nothing is refused with a sentence instead of idling. */
function rolesThatRun(opened: OpenAreas['opened'], wanted: ReadonlySet<Role>): ReadonlySet<Role> {
  const known = new Set<Role>(['api', 'worker']);
  for (const { opened: made } of opened) {
    for (const { role } of made.planes ?? []) known.add(role);
    for (const role of Object.keys(made.runs ?? {}) as Role[]) known.add(role);
  }
  const running = [...wanted].filter((role) => known.has(role));
  if (running.length) return new Set(running);
  throw new Stop(
    exitCodes.configuration,
    `nothing runs for ${listRoles(wanted)} in this release; give QUARTERDECK_ROLES or --roles at least one of ${listRoles(known)}`,
  );
}

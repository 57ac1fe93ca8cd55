// What the contract says of reading, writing and coming back.
import Type, { type TSchema } from 'typebox';
import type { Op } from '../../contract/common.ts';
import { reaches, readModules } from './call-graph.ts';
import { folderOf, type Rule, type Source } from './rule.ts';

export interface Promised {
  ops: Op[];
  sources: Source[];
}

/** A call of `write` on a context or a database, however it is reached: `ctx.write`, `app.db.write`. */
const opensWrite = (_file: string, name: string) => /(^|\.)(ctx|db)\.write$/.test(name);

/** Operations that open a writing transaction, themselves or in a function of their area or of a driver. */
function writers(sources: Source[]): Set<string> {
  const modules = readModules(sources.filter(({ file }) => /^src\/(areas|drivers)\//.test(file)));
  return new Set(
    sources
      .filter(({ file }) => folderOf(file) === 'operations' && reaches(modules, file, opensWrite))
      .flatMap(({ text }) => [...text.matchAll(/\boperation\(\s*\w+\.(\w+)/g)].map(([, id]) => id!)),
  );
}

const plantedOp = (op: Partial<Op>): Op => ({ id: 'makeThing', method: 'POST', path: '/things', permission: 'x.thing.write', ...op }) as Op;
const handler = (text: string): Source[] => [{ file: 'src/areas/x/operations/make-thing.ts', text }];
const writing = handler('export const makeThing = operation(\n  things.makeThing, async ({ ctx }) => ctx.write(async (tx) => act(tx)));');

export const readersWriteNothing: Rule<Promised> = {
  name: 'the right to read is not enough to write',
  enforced: true,
  find: ({ ops, sources }) => {
    const written = writers(sources);
    return ops
      .filter(({ id, permission, changesNothing }) => (permission.endsWith('.read') || changesNothing) && written.has(id))
      .map(({ id, permission, changesNothing }) => ({
        where: id,
        what: changesNothing
          ? 'writes, and says that it changes nothing'
          : `writes, and ${permission} is enough for it; ask for the tier that may write`,
      }));
  },
  except: [
    [/^createRegistryLogin$/, 'a login for an hour that holds no more than its maker: a caller who may pull needs one to pull with'],
  ],
  planted: [
    { ops: [plantedOp({ permission: 'registry.image.read' })], sources: writing },
    { ops: [plantedOp({ changesNothing: true })], sources: writing },
    {
      ops: [plantedOp({ permission: 'registry.image.read' })],
      sources: writing.map(({ text }) => ({ file: 'src/areas/email/outbound/operations/make-thing.ts', text })),
    },
    {
      ops: [plantedOp({ permission: 'registry.image.read' })],
      sources: handler('export const makeThing = operation(things.makeThing, ({ ctx }) => ctx.app.db.write(insert));'),
    },
    {
      ops: [plantedOp({ permission: 'registry.image.read' })],
      sources: [
        ...handler(
          "import { make } from '../engine/make.ts';\nexport const makeThing = operation(things.makeThing, ({ ctx }) => make(ctx.app));",
        ),
        { file: 'src/areas/x/engine/make.ts', text: 'export const make = ({ db }: App) => db.write(insert);' },
      ],
    },
    {
      ops: [plantedOp({ permission: 'registry.image.read' })],
      sources: [
        ...handler(
          "import { make } from '../../../drivers/x/index.ts';\nexport const makeThing = operation(things.makeThing, ({ ctx }) => make(ctx.app));",
        ),
        { file: 'src/drivers/x/index.ts', text: 'export const make = ({ db }: App) => db.write(insert);' },
      ],
    },
  ],
  innocent: [
    { ops: [plantedOp({ permission: 'registry.image.write' })], sources: writing },
    {
      ops: [plantedOp({ permission: 'registry.image.read' })],
      sources: handler('operation(things.makeThing, ({ ctx }) => ctx.read(find))'),
    },
  ],
};

type Properties = Record<string, TSchema>;
const propertiesOf = (schema: unknown): Properties => (schema as { properties?: Properties } | null)?.properties ?? {};

/** The fields of an answer, of what it wraps, and of the items of its lists: `{ tokens: [{ name }] }` tells a name. */
function fieldsTold(schema: TSchema | null | undefined): string[] {
  const own = propertiesOf(schema);
  const inner = Object.values(own).flatMap((field) => [propertiesOf(field), propertiesOf((field as { items?: unknown }).items)]);
  return [own, ...inner].flatMap(Object.keys);
}

/** The same path, or the thing itself below its collection. */
const isReadOf = (read: Op, write: Op) =>
  read.method === 'GET' &&
  (read.path === write.path || new RegExp(`^${write.path.replaceAll(/[{}]/g, '\\$&')}/\\{\\w+\\}$`).test(read.path));

export const whatIsTakenComesBack: Rule<Promised> = {
  name: 'what a body takes comes back',
  enforced: true,
  find: ({ ops }) =>
    ops
      .filter((op) => op.method !== 'GET' && op.body && !op.foreign && (op.responses[200] ?? op.responses[201]))
      .flatMap((op) => {
        const answers = [
          op.responses[200],
          op.responses[201],
          ...ops.filter((read) => isReadOf(read, op)).map((read) => read.responses[200]),
        ];
        const told = new Set(answers.flatMap(fieldsTold));
        return Object.keys(propertiesOf(op.body))
          .filter((field) => !told.has(field))
          .map((field) => ({ where: `${op.id}.${field}`, what: 'is taken, and neither its answer nor a GET of its path tells it again' }));
      }),
  except: [
    [/^createToken\.expiresIn$/, 'comes back as expiresAt'],
    [/^createRegistrationToken\.expiresIn$/, 'comes back as expiresAt'],
    [/^acceptInvitation\.(secret|name)$/, 'the secret is spent; the name is in getMe'],
    [/^createDeviceCode\.program$/, 'shown on the page where the person approves, and the name of the token'],
    [/^claimDeviceToken\.deviceCode$/, 'a secret that is spent'],
    [/^createRegistryLogin\.pullOnly$/, 'comes back as scope'],
    [/^setRegistryUpstreamCredential\.password$/, 'a secret that is never shown again'],
    [/^tryMonitor\./, 'nothing is stored; the answer says what the check saw'],
    [/^matchRegistryOidcSubject\./, 'nothing is stored; the answer says which rules match'],
    [/^setProvider\.authToken$/, 'a secret that is never shown again'],
    [/^(create|update)StatusPage\.logo$/, 'an image, served at logoUrl'],
  ],
  planted: [
    {
      ops: [
        plantedOp({
          body: Type.Object({ name: Type.String(), colour: Type.String() }),
          responses: { 201: Type.Object({ name: Type.String() }) },
        }),
      ],
      sources: [],
    },
    {
      ops: [
        plantedOp({ body: Type.Object({ colour: Type.String() }), responses: { 201: Type.Object({ id: Type.String() }) } }),
        plantedOp({ id: 'listOthers', method: 'GET', path: '/others', responses: { 200: Type.Object({ colour: Type.String() }) } }),
      ],
      sources: [],
    },
  ],
  innocent: [
    {
      ops: [
        plantedOp({ body: Type.Object({ colour: Type.String() }), responses: { 201: Type.Object({ id: Type.String() }) } }),
        plantedOp({
          id: 'getThing',
          method: 'GET',
          path: '/things/{id}',
          responses: { 200: Type.Object({ colour: Type.String() }) },
        }),
      ],
      sources: [],
    },
  ],
};

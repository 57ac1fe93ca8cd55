import { reaches, readModules } from './call-graph.ts';
import { folderOf, type Rule, type Source } from './rule.ts';

const audits = (file: string, name: string) => /^audit/.test(name) && /^src\/identity\//.test(file);

const operation = (text: string): Source => ({
  file: 'src/areas/x/operations/make-thing.ts',
  text: `import { makeThing as make } from '../engine/things.ts';\nimport * as store from '../store/things.ts';\n${text}`,
});
const writes = 'export const makeThing = operation(x.makeThing, ({ ctx }) => ctx.write((tx) => make(tx)));';
const engine = (text: string): Source => ({
  file: 'src/areas/x/engine/things.ts',
  text: `import { audit } from '../../../identity/audit.ts';\n${text}`,
});

export const whatChangesIsAudited: Rule<Source[]> = {
  name: 'what changes something says so in the audit log',
  enforced: true,
  find: (sources) => {
    const modules = readModules(sources);
    return sources
      .filter(({ file, text }) => folderOf(file) === 'operations' && /\bctx\.write\(/.test(text) && !/\bunaudited:/.test(text))
      .filter(({ file }) => !reaches(modules, file, audits))
      .map(({ file }) => ({ where: file, what: 'writes without an audit row, whatever it calls; or say why in a comment `unaudited: …`' }));
  },
  except: [],
  planted: [
    [operation(writes), engine('export const makeThing = (tx: Tx) => insert(tx);\nexport const end = (tx: Tx) => audit(tx);')],
    [operation('export const makeThing = operation(x.makeThing, ({ ctx }) => ctx.write((tx) => store.insert(tx)));')],
    [{ file: 'src/areas/email/outbound/operations/make-thing.ts', text: writes }],
  ],
  innocent: [
    [operation(writes), engine('export const makeThing = (tx: Tx) => told(tx);\nconst told = async (tx: Tx) => audit(tx);')],
    [operation(`// unaudited: not needed\n${writes}`)],
    [
      operation('export const makeThing = operation(x.makeThing, ({ ctx }) => ctx.write((tx) => store.insert(tx)));'),
      { file: 'src/areas/x/store/things.ts', text: "export { makeThing as insert } from '../engine/things.ts';" },
      engine('export async function makeThing(tx: Tx) { await audit(tx); }'),
    ],
  ],
};

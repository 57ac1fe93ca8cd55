import { basename, dirname } from 'node:path';
import ts from 'typescript';
import { lineOf, nodesBelow, type Rule, type Source, subAreas, treeOf } from './rule.ts';

const rootFiles = ['index.ts', 'open.ts', 'jobs.ts', 'tasks.ts', 'metrics.ts'];
const folders = ['operations', 'engine', 'rules', 'store', 'views', 'planes', 'clients', 'migrations', 'test'];
/** A driver of clusters has the rooms of an area, without those for the control API. */
const driverRootFiles = ['index.ts', 'open.ts'];
const driverFolders = ['engine', 'rules', 'store', 'planes', 'clients', 'test'];
const empty = (file: string): Source => ({ file, text: '' });

/** Migrations, and the files that join the sub-areas, stay above them. */
const subFolders = folders.filter((folder) => folder !== 'migrations');

/** The folder or file at which the path leaves the known layout. */
function strangeFolderOf(file: string): string | undefined {
  const [src, group, area, folder, inner, below] = file.split('/');
  if (src !== 'src' || area === undefined || folder === undefined) return undefined;
  if (group === 'drivers')
    return (inner === undefined ? driverRootFiles : driverFolders).includes(folder) ? undefined : `src/drivers/${area}/${folder}`;
  if (group !== 'areas') return undefined;
  if (inner === undefined) return rootFiles.includes(folder) ? undefined : file;
  if (!subAreas[area]?.includes(folder)) return folders.includes(folder) ? undefined : `src/areas/${area}/${folder}`;
  return below !== undefined && subFolders.includes(inner) ? undefined : `src/areas/${area}/${folder}/${inner}`;
}

/** Read one area and you have read them all. */
export const areasHaveTheSameFolders: Rule<Source[]> = {
  name: 'areas have the same rooms',
  enforced: true,
  find: (sources) => {
    const strange = sources.map(({ file }) => strangeFolderOf(file)).filter((where) => where !== undefined);
    return [...new Set(strange)].map((where) => ({ where, what: 'is no room of an area; scripts/house/layout.ts lists them' }));
  },
  except: [],
  planted: [
    [empty('src/areas/x/quota.ts')],
    [empty('src/areas/x/render/page.ts')],
    [empty('src/areas/x/rules.ts')],
    [empty('src/areas/email/outbound/open.ts')],
    [empty('src/areas/email/outbound/migrations/a.ts')],
    [empty('src/drivers/x/apply.ts')],
    [empty('src/drivers/x/views/plane.ts')],
  ],
  innocent: [
    [empty('src/drivers/index.ts'), empty('src/drivers/x/open.ts'), empty('src/drivers/x/engine/apply.ts')],
    [empty('src/areas/index.ts'), empty('src/areas/area.ts')],
    [empty('src/areas/x/index.ts'), empty('src/areas/x/open.ts'), empty('src/areas/x/planes/oci/index.ts')],
    [empty('src/areas/email/outbound/engine/queue/index.ts'), empty('src/areas/email/engine/segments.ts')],
  ],
};

const maxFiles = 25;

/** One operation or one migration a file is a list; any other folder of that size is two. */
export const foldersAreOfOneIdea: Rule<Source[]> = {
  name: 'a folder of code holds at most 25 files beside its index.ts',
  enforced: true,
  find: (sources) => {
    const folders = Map.groupBy(
      sources.map(({ file }) => file).filter((file) => file.startsWith('src/')),
      dirname,
    );
    return [...folders]
      .filter(
        ([folder, files]) =>
          files.filter((file) => basename(file) !== 'index.ts').length > maxFiles && !/^(operations|migrations)$/.test(basename(folder)),
      )
      .map(([where, files]) => ({ where, what: `holds ${files.length} files; a folder of one idea has at most ${maxFiles}` }));
  },
  except: [],
  planted: [Array.from({ length: 26 }, (_, i) => empty(`src/areas/x/engine/a${i}.ts`))],
  innocent: [
    Array.from({ length: 25 }, (_, i) => empty(`src/areas/x/engine/a${i}.ts`)),
    Array.from({ length: 60 }, (_, i) => empty(`src/areas/x/operations/a${i}.ts`)),
  ],
};

const maxLines = 80;

const nameOf = (node: ts.Node): string => {
  const named = node as { name?: ts.Node };
  if (named.name) return named.name.getText();
  for (let at = node.parent; at && !ts.isSourceFile(at); at = at.parent)
    if (ts.isVariableDeclaration(at) || ts.isPropertyAssignment(at)) return at.name.getText();
  return 'a function';
};

/** A long function hides its story; the steps of a told one have names. */
export const functionsAreShort: Rule<Source[]> = {
  name: 'a function has at most 80 lines',
  enforced: true,
  find: (sources) =>
    sources
      .filter(({ file }) => file.startsWith('src/'))
      .flatMap((source) => {
        const tree = treeOf(source);
        return [...nodesBelow(tree)].filter(ts.isFunctionLike).flatMap((node) => {
          const lines = lineOf(tree, node.end) - lineOf(tree, node.getStart()) + 1;
          if (lines <= maxLines) return [];
          return [
            { where: `${source.file} ${nameOf(node)}`, what: `${lines} lines; tell it as a story of steps, each at most ${maxLines}` },
          ];
        });
      }),
  except: [],
  planted: [
    [{ file: 'src/areas/x/a.ts', text: `export function a() {\n${'  b();\n'.repeat(79)}}\n` }],
    [{ file: 'src/areas/x/a.ts', text: `export const a = async () => {\n${'  b();\n'.repeat(79)}};\n` }],
  ],
  innocent: [[{ file: 'src/areas/x/a.ts', text: `export function a() {\n${'  b();\n'.repeat(78)}}\n` }]],
};

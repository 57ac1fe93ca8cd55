import { basename, dirname } from 'node:path';
import ts from 'typescript';
import { lineOf, nodesBelow, type Rule, type Source, treeOf } from './rule.ts';

const rootFiles = ['index.ts', 'open.ts', 'jobs.ts', 'tasks.ts', 'metrics.ts'];
const folders = ['operations', 'engine', 'rules', 'store', 'views', 'planes', 'clients', 'migrations', 'test'];
const empty = (file: string): Source => ({ file, text: '' });

/** Read one area and you have read them all. */
export const areasHaveTheSameFolders: Rule<Source[]> = {
  name: 'areas have the same rooms',
  enforced: true,
  find: (sources) => {
    const places = sources.map(({ file }) => file.split('/')).filter(([src, areas, , room]) => src === 'src' && areas === 'areas' && room);
    const strange = places
      .filter((path) => !(path.length === 4 ? rootFiles : folders).includes(path[3]!))
      .map((path) => path.slice(0, 4).join('/'));
    return [...new Set(strange)].map((where) => ({
      where,
      what: 'is no room of an area; scripts/house/layout.ts lists them',
    }));
  },
  except: [],
  planted: [[empty('src/areas/x/quota.ts')], [empty('src/areas/x/render/page.ts')], [empty('src/areas/x/rules.ts')]],
  innocent: [
    [empty('src/areas/index.ts'), empty('src/areas/area.ts')],
    [empty('src/areas/x/index.ts'), empty('src/areas/x/open.ts'), empty('src/areas/x/planes/oci/index.ts')],
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

import { dirname, join } from 'node:path/posix';
import ts from 'typescript';
import { lineOf, nodesBelow, type Source, treeOf } from '../house/rule.ts';

/** A regular expression of ours, where it stands. `source` is undefined for one whose text is only known while the program runs. */
export interface Pattern {
  file: string;
  line: number;
  source: string | undefined;
  flags: string;
  /** As it is written, for people. */
  written: string;
}

/** What verdicts are kept by. */
export const keyOf = ({ source, flags }: { source: string; flags: string }): string => `/${source}/${flags}`;

/** Literals, `RegExp(…)` with or without `new`, and the `pattern` of a schema. */
export function findPatterns(sources: readonly Source[]): Pattern[] {
  const byFile = new Map(sources.map((source) => [source.file, source]));
  return sources.flatMap((source) => {
    const tree = treeOf(source);
    const textOf = (node: ts.Expression) => evaluate(node, source, byFile);
    return nodesBelow(tree).flatMap((node) => {
      const found = readPattern(node, textOf);
      if (!found) return [];
      const written = node.getText(tree).replaceAll(/\s+/g, ' ');
      return [{ file: source.file, line: lineOf(tree, node.getStart(tree)), ...found, written: written.slice(0, 160) }];
    });
  });
}

type TextOf = (node: ts.Expression) => string | undefined;

function readPattern(node: ts.Node, textOf: TextOf): Pick<Pattern, 'source' | 'flags'> | undefined {
  if (ts.isRegularExpressionLiteral(node)) return readLiteral(node);
  if (ts.isNewExpression(node) || ts.isCallExpression(node)) return isRegExp(node.expression) ? readCall(node, textOf) : undefined;
  // Of a schema: JSON Schema's patterns are matched with the flag u. Other things have a `pattern` too, which is no text of ours.
  if (!ts.isPropertyAssignment(node) || !ts.isIdentifier(node.name) || node.name.text !== 'pattern') return undefined;
  const source = textOf(node.initializer);
  return source === undefined ? undefined : { source, flags: 'u' };
}

const isRegExp = (node: ts.Expression) => ts.isIdentifier(node) && node.text === 'RegExp';

function readLiteral({ text }: ts.RegularExpressionLiteral) {
  const end = text.lastIndexOf('/');
  return { source: text.slice(1, end), flags: text.slice(end + 1) };
}

function readCall({ arguments: given }: ts.NewExpression | ts.CallExpression, textOf: TextOf) {
  const [pattern, flags] = given ?? [];
  const known = flags ? textOf(flags) : '';
  const source = pattern && known !== undefined ? textOf(pattern) : undefined;
  return { source, flags: known ?? '' };
}

/** The text that an expression stands for, as far as it is made of constants; what was escaped stands as an `x`. */
function evaluate(node: ts.Expression, source: Source, byFile: ReadonlyMap<string, Source>): string | undefined {
  const again = (inner: ts.Expression) => evaluate(inner, source, byFile);
  const all = (parts: (string | undefined)[]) => (parts.includes(undefined) ? undefined : (parts as string[]));
  if (ts.isStringLiteralLike(node)) return node.text;
  if (ts.isRegularExpressionLiteral(node)) return readLiteral(node).source;
  if (ts.isParenthesizedExpression(node) || ts.isAsExpression(node)) return again(node.expression);
  if (ts.isTemplateExpression(node))
    return all([node.head.text, ...node.templateSpans.flatMap((span) => [again(span.expression), span.literal.text])])?.join('');
  if (ts.isTaggedTemplateExpression(node) && node.tag.getText() === 'String.raw' && ts.isNoSubstitutionTemplateLiteral(node.template))
    return node.template.rawText;
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken)
    return all([again(node.left), again(node.right)])?.join('');
  if (ts.isCallExpression(node) && node.expression.getText() === 'RegExp.escape') return 'x';
  if (ts.isPropertyAccessExpression(node) && node.name.text === 'source') return again(node.expression);
  if (ts.isIdentifier(node)) return evaluateName(node.text, source, byFile);
  if (ts.isPropertyAccessExpression(node) && ts.isIdentifier(node.expression))
    return evaluateMember(node.expression.text, node.name.text, source);
  return undefined;
}

/** Of an object that is written out in the same file. */
function evaluateMember(name: string, member: string, source: Source): string | undefined {
  for (const statement of treeOf(source).statements.filter(ts.isVariableStatement))
    for (const { name: made, initializer } of statement.declarationList.declarations)
      if (made.getText() === name && initializer && ts.isObjectLiteralExpression(initializer))
        for (const each of initializer.properties)
          if (ts.isPropertyAssignment(each) && each.name.getText() === member && ts.isStringLiteralLike(each.initializer))
            return each.initializer.text;
  return undefined;
}

function evaluateName(name: string, source: Source, byFile: ReadonlyMap<string, Source>): string | undefined {
  const tree = treeOf(source);
  for (const statement of tree.statements) {
    if (ts.isVariableStatement(statement))
      for (const made of statement.declarationList.declarations)
        if (ts.isIdentifier(made.name) && made.name.text === name && made.initializer) return evaluate(made.initializer, source, byFile);
    if (!ts.isImportDeclaration(statement)) continue;
    const bindings = statement.importClause?.namedBindings;
    const found = bindings && ts.isNamedImports(bindings) ? bindings.elements.find((each) => each.name.text === name) : undefined;
    const module = (statement.moduleSpecifier as ts.StringLiteral).text;
    const other = found && module.startsWith('.') ? byFile.get(join(dirname(source.file), module)) : undefined;
    if (found && other) return evaluateName((found.propertyName ?? found.name).text, other, byFile);
  }
  return undefined;
}

// Who may import whom. scripts/check-imports.ts also plants a violation of each rule and demands that it is found.
module.exports = {
  forbidden: [
    {
      name: 'contract-imports-only-typebox',
      severity: 'error',
      from: { path: '^contract/', pathNot: '/test/' },
      to: { pathNot: ['^contract/', 'node_modules/typebox/', '^typebox$'] },
    },
    {
      name: 'kernel-knows-no-identity-or-area',
      severity: 'error',
      from: { path: '^src/kernel/', pathNot: '/test/' },
      to: { path: '^src/(identity|areas|boot|admin|commands)/' },
    },
    {
      name: 'identity-knows-no-area',
      severity: 'error',
      from: { path: '^src/identity/', pathNot: '/test/' },
      to: { path: '^src/(areas|boot|admin|commands)/' },
    },
    {
      name: 'an-area-has-one-door',
      severity: 'error',
      from: { path: '^src/areas/([^/]+)/', pathNot: '/test/' },
      to: { path: '^src/areas/([^/]+)/', pathNot: ['^src/areas/$1/', '^src/areas/[^/]+/index\\.ts$'] },
    },
    {
      name: 'areas-are-entered-by-index',
      severity: 'error',
      from: { pathNot: ['^src/areas/', '/test/', '^test/'] },
      to: { path: '^src/areas/[^/]+/', pathNot: '^src/areas/[^/]+/index\\.ts$' },
    },
    {
      name: 'rules-are-pure',
      severity: 'error',
      from: { path: '^src/areas/[^/]+/rules(\\.ts|/)', pathNot: '/test/' },
      to: { path: ['^src/kernel/(db|jobs|storage|guard|postgres|listen|app)', 'store(\\.ts|/)', 'node_modules/(pg|fastify)'] },
    },
    {
      name: 'operations-speak-no-sql',
      severity: 'error',
      from: { path: '^src/areas/[^/]+/operations/' },
      to: { path: ['^src/kernel/(sql|postgres|listen|migrate)', 'node_modules/pg/'] },
    },
    {
      name: 'cli-imports-only-the-sdk',
      severity: 'error',
      from: { path: '^(cli|console)/', pathNot: '/test/' },
      to: { path: '^(src|contract|test|bench)/' },
    },
    {
      name: 'sdk-stands-alone',
      severity: 'error',
      from: { path: '^sdk/', pathNot: '/test/' },
      to: { path: '^(src|contract|test|bench|cli|node_modules)/' },
    },
    {
      name: 'product-needs-no-tests',
      severity: 'error',
      from: { path: '^(src|contract|cli|sdk)/', pathNot: '/test/' },
      to: { path: '(^test/|^bench/|/test/)' },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true, viaOnly: { dependencyTypesNot: ['type-only'] } } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    moduleSystems: ['es6'],
    enhancedResolveOptions: {
      extensions: ['.ts', '.mjs', '.js'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
    },
  },
};

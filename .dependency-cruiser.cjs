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
      to: { path: '^src/(identity|areas|boot|admin|commands|programs)/' },
    },
    {
      name: 'identity-knows-no-area',
      severity: 'error',
      from: { path: '^src/identity/', pathNot: '/test/' },
      to: { path: '^src/(areas|boot|admin|commands|programs)/' },
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
    // The rooms of an area or of a sub-area. Operations, planes, jobs, tasks and the index import engine; engine imports
    // clients, store and rules.
    {
      name: 'rules-are-pure',
      severity: 'error',
      from: { path: '^src/(areas/[^/]+|identity)/(?:(?:domains|outbound|inbound|webhooks)/)?rules/', pathNot: '/test/' },
      to: {
        path: '^src/|node_modules/(pg|fastify)/',
        pathNot: [
          '^src/(areas/[^/]+|identity)/(?:(?:domains|outbound|inbound|webhooks)/)?rules/',
          '^src/kernel/(errors|instant|assert-progress|steps|time-zone|buffers/growing-buffer|guard/address)\\.ts$',
          '^src/protocols/',
        ],
      },
    },
    {
      name: 'store-knows-only-rows',
      severity: 'error',
      from: { path: '^src/(areas/[^/]+|identity)/(?:(?:domains|outbound|inbound|webhooks)/)?store/', pathNot: '/test/' },
      to: {
        path: '^src/areas/[^/]+/((?:(?:domains|outbound|inbound|webhooks)/)?(operations|engine|planes|clients|views)/|(jobs|tasks|open|index|metrics)\\.ts)|^src/identity/engine/',
      },
    },
    {
      name: 'engine-knows-nobody-who-asks',
      severity: 'error',
      from: { path: '^src/areas/([^/]+)/(?:(?:domains|outbound|inbound|webhooks)/)?engine/', pathNot: '/test/' },
      to: { path: '^src/areas/$1/((?:(?:domains|outbound|inbound|webhooks)/)?(operations|planes)/|(jobs|tasks|open|index)\\.ts)' },
    },
    {
      name: 'clients-are-handed-what-they-need',
      severity: 'error',
      from: { path: '^src/areas/[^/]+/(?:(?:domains|outbound|inbound|webhooks)/)?clients/', pathNot: '/test/' },
      to: {
        path: '^src/areas/[^/]+/((?:(?:domains|outbound|inbound|webhooks)/)?(operations|planes|engine|store|views)/|(jobs|tasks|open|index)\\.ts)',
      },
    },
    {
      name: 'views-show-and-do-nothing',
      severity: 'error',
      from: { path: '^src/areas/[^/]+/(?:(?:domains|outbound|inbound|webhooks)/)?views/', pathNot: '/test/' },
      to: {
        path: '^src/areas/[^/]+/((?:(?:domains|outbound|inbound|webhooks)/)?(operations|planes|engine|clients)/|(jobs|tasks|open)\\.ts)',
      },
    },
    {
      name: 'a-plane-knows-no-other-plane',
      severity: 'error',
      from: { path: '^src/areas/([^/]+)/(?:(?:domains|outbound|inbound|webhooks)/)?planes/([^/]+)', pathNot: '/test/' },
      to: {
        path: '^src/areas/$1/(?:(?:domains|outbound|inbound|webhooks)/)?planes/',
        pathNot: '^src/areas/$1/(?:(?:domains|outbound|inbound|webhooks)/)?planes/$2',
      },
    },
    {
      name: 'nobody-asks-an-operation',
      severity: 'error',
      from: { path: '^src/', pathNot: ['/test/', '^src/areas/[^/]+/index\\.ts$'] },
      to: { path: '^src/areas/[^/]+/(?:(?:domains|outbound|inbound|webhooks)/)?operations/' },
    },
    {
      name: 'only-store-speaks-sql',
      severity: 'error',
      from: {
        path: '^src/areas/[^/]+/((?:(?:domains|outbound|inbound|webhooks)/)?(operations|engine|planes|clients|views)/|(jobs|tasks|open|index|metrics)\\.ts)',
        pathNot: '/test/',
      },
      to: { path: ['^src/kernel/(sql|db/rows|postgres|migrate)', 'node_modules/pg/'], dependencyTypesNot: ['type-only'] },
    },
    // The sub-areas of email, from the bottom: what all share, webhooks, domains, outbound, inbound. Only its own files join them.
    {
      name: 'shared-rooms-of-email-know-no-sub-area',
      severity: 'error',
      from: { path: '^src/areas/email/(engine|store|rules)/', pathNot: '/test/' },
      to: { path: '^src/areas/email/(webhooks|domains|outbound|inbound)/' },
    },
    {
      name: 'webhooks-know-no-other-sub-area',
      severity: 'error',
      from: { path: '^src/areas/email/webhooks/', pathNot: '/test/' },
      to: { path: '^src/areas/email/(domains|outbound|inbound)/' },
    },
    {
      name: 'domains-know-no-mail',
      severity: 'error',
      from: { path: '^src/areas/email/domains/', pathNot: '/test/' },
      to: { path: '^src/areas/email/(outbound|inbound)/' },
    },
    {
      name: 'outbound-knows-no-inbound',
      severity: 'error',
      from: { path: '^src/areas/email/outbound/', pathNot: '/test/' },
      to: { path: '^src/areas/email/inbound/' },
    },
    {
      name: 'programs-reach-no-area',
      severity: 'error',
      from: { path: '^src/programs/', pathNot: '/test/' },
      to: {
        path: '^src/',
        pathNot: [
          '^src/programs/',
          '^src/protocols/',
          '^src/kernel/(guard/|faults/(faults|guarded)\\.ts|log\\.ts|assert-progress\\.ts|instant\\.ts|buffers/growing-buffer\\.ts|errors\\.ts)',
        ],
      },
    },
    {
      name: 'protocols-stand-alone',
      severity: 'error',
      from: { path: '^src/protocols/', pathNot: '/test/' },
      to: { path: '^(src|contract|cli|sdk)/', pathNot: '^src/protocols/' },
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
      from: { path: '^(src|contract|cli|sdk|console)/', pathNot: '/test/' },
      to: { path: '(^test/|^bench/|/test/)' },
    },
    // The console, from the bottom: data, ui and plots, areas, shell. Areas know each other by addresses only.
    {
      name: 'data-of-the-console-shows-nothing',
      severity: 'error',
      from: { path: '^console/data/' },
      to: { path: '^console/(ui|plots|areas|shell)/' },
    },
    {
      name: 'parts-of-the-console-know-no-screen',
      severity: 'error',
      from: { path: '^console/(ui|plots)/' },
      to: { path: '^console/(areas|shell)/' },
    },
    {
      name: 'screens-of-areas-know-no-other-area',
      severity: 'error',
      from: { path: '^console/areas/([^/]+)/' },
      to: { path: '^console/areas/([^/]+)/', pathNot: '^console/areas/$1/' },
    },
    // The world of `serve --try`.
    {
      name: 'try-knows-the-kernel-alone',
      severity: 'error',
      from: { path: '^src/try/', pathNot: '/test/' },
      to: { path: '^(src|contract|cli|sdk)/', pathNot: ['^src/try/', '^src/kernel/'] },
    },
    {
      name: 'only-a-start-uses-try',
      severity: 'error',
      from: {
        path: '^(src|contract|cli|sdk)/',
        // The doctor judges a server of --try by what that runs with.
        pathNot: ['^src/try/', '^src/boot/', '^src/commands/serve\\.ts$', '^src/serve\\.ts$', '^src/admin/doctor/', '/test/'],
      },
      to: { path: '^src/try/' },
    },
    // The drivers of clusters. They have the rooms of an area, and know none: the clusters area hands over what they need.
    {
      name: 'drivers-know-no-area',
      severity: 'error',
      from: { path: '^src/drivers/', pathNot: '/test/' },
      to: { path: '^src/(areas|identity|boot|admin|commands|programs)/|^src/(main|serve)\\.ts$' },
    },
    {
      name: 'only-clusters-and-admin-use-drivers',
      severity: 'error',
      from: { path: '^src/', pathNot: ['^src/drivers/', '^src/areas/clusters/', '^src/admin/', '/test/'] },
      to: { path: '^src/drivers/' },
    },
    {
      name: 'a-driver-has-one-door',
      severity: 'error',
      from: { pathNot: ['^src/drivers/[^/]+/', '/test/', '^test/'] },
      to: { path: '^src/drivers/[^/]+/', pathNot: '^src/drivers/[^/]+/index\\.ts$' },
    },
    {
      name: 'a-driver-knows-no-other-driver',
      severity: 'error',
      from: { path: '^src/drivers/([^/]+)/', pathNot: '/test/' },
      to: { path: '^src/drivers/([^/]+/|index\\.ts$)', pathNot: '^src/drivers/$1/' },
    },
    {
      name: 'rules-of-a-driver-are-pure',
      severity: 'error',
      from: { path: '^src/drivers/[^/]+/rules/', pathNot: '/test/' },
      to: {
        path: '^src/|node_modules/(pg|fastify)/',
        pathNot: [
          '^src/drivers/[^/]+/rules/',
          '^src/drivers/(status|keys)\\.ts$',
          '^src/kernel/(errors|instant|assert-progress|steps)\\.ts$',
        ],
      },
    },
    {
      name: 'store-of-a-driver-knows-only-rows',
      severity: 'error',
      from: { path: '^src/drivers/[^/]+/store/', pathNot: '/test/' },
      to: { path: '^src/drivers/[^/]+/(engine|planes|clients|open\\.ts|index\\.ts)' },
    },
    {
      name: 'engine-of-a-driver-knows-no-plane',
      severity: 'error',
      from: { path: '^src/drivers/[^/]+/engine/', pathNot: '/test/' },
      to: { path: '^src/drivers/[^/]+/(planes/|open\\.ts|index\\.ts)' },
    },
    {
      name: 'clients-of-a-driver-are-handed-what-they-need',
      severity: 'error',
      from: { path: '^src/drivers/[^/]+/clients/', pathNot: '/test/' },
      to: { path: '^src/drivers/[^/]+/(engine|planes|store|open\\.ts|index\\.ts)' },
    },
    {
      name: 'only-store-of-a-driver-speaks-sql',
      severity: 'error',
      from: { path: '^src/drivers/([^/]+/(engine|planes|clients|open\\.ts|index\\.ts)|[^/]+\\.ts$)', pathNot: '/test/' },
      to: { path: ['^src/kernel/(sql|db/rows|postgres|migrate)', 'node_modules/pg/'], dependencyTypesNot: ['type-only'] },
    },
    // What decides and transacts knows no protocol: HTTP is spoken by planes, and by clients.
    {
      name: 'no-http-in-engine',
      severity: 'error',
      from: {
        path: '^src/(areas|drivers)/.+/engine/',
        // It only names the type of a request that it hands on.
        pathNot: ['/test/', '^src/areas/registry/engine/credentials/index\\.ts$'],
      },
      to: { path: ['^(node:)?(http|https|http2)$', 'node_modules/(fastify|undici)/'] },
    },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    moduleSystems: ['es6'],
    enhancedResolveOptions: {
      extensions: ['.ts', '.tsx', '.mjs', '.js'],
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
    },
  },
};

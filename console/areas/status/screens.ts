import type { Screen } from '../../shell/screen.ts';

export const screens: readonly Screen[] = [
  {
    path: '/status',
    title: 'Status pages',
    area: 'status',
    main: 'listStatusPages',
    operations: ['listStatusPages'],
    listed: true,
    words: 'public customers subscribers',
    load: async () => ({ default: (await import('./all.ts')).Pages }),
  },
  {
    path: '/status/new',
    title: 'New status page',
    area: 'status',
    main: 'createStatusPage',
    operations: ['createStatusPage', 'listOncallServices', 'getUptimeSummary'],
    words: 'create public',
    load: async () => ({ default: (await import('./all.ts')).NewPage }),
  },
  {
    path: '/status/:slug',
    title: 'Status page',
    area: 'status',
    main: 'getStatusPage',
    operations: [
      'getStatusPage',
      'updateStatusPage',
      'deleteStatusPage',
      'listStatusPageSubscribers',
      'removeStatusPageSubscriber',
      'listOncallServices',
      'getUptimeSummary',
    ],
    load: async () => ({ default: (await import('./all.ts')).Page }),
  },
];

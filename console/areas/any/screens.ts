import type { Screen } from '../../shell/screen.ts';

export const screens: readonly Screen[] = [
  {
    path: '/do/:operation',
    title: 'Operation',
    area: 'any',
    operations: [],
    load: () => import('./do-operation.tsx'),
  },
  {
    path: '/parts',
    title: 'Parts of this console',
    area: 'any',
    operations: [],
    words: 'components style guide buttons',
    load: () => import('./parts.tsx'),
  },
  {
    path: '/confirmed',
    title: 'Confirmed',
    area: 'any',
    operations: [],
    load: () => import('./confirmed.tsx'),
  },
];

import type { Screen } from '../../shell/screen.ts';

export const screens: readonly Screen[] = [
  {
    path: '/',
    title: 'Home',
    area: 'home',
    operations: ['getOverview'],
    listed: true,
    words: 'overview start dashboard',
    load: () => import('./home.tsx'),
  },
];

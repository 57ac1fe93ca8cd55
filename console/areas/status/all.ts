// One part for the screens of this area: they share most of their words, and together they are a third smaller than one by one.
export { default as NewPage } from './new-page.tsx';
export { default as Page } from './page.tsx';
export { default as Pages } from './pages.tsx';

// One part for the screens of this area: they share most of their words, and together they are a third smaller than one by one.
export { default as Image } from './image.tsx';
export { default as Keys } from './keys.tsx';
export { default as OidcRules } from './oidc-rules.tsx';
export { default as Registries } from './registries.tsx';
export { default as Registry } from './registry.tsx';
export { default as Repository } from './repository.tsx';
export { default as Upstreams } from './upstreams.tsx';

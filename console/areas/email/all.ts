// One part for the screens of this area: they share most of their words, and together they are a third smaller than one by one.
export { default as Deliveries } from './deliveries.tsx';
export { default as Domain } from './domain.tsx';
export { default as Domains } from './domains.tsx';
export { default as Message } from './message.tsx';
export { default as Messages } from './messages.tsx';
export { default as Routes } from './routes.tsx';
export { default as SendKeys } from './send-keys.tsx';
export { default as Sending } from './sending.tsx';
export { default as Suppressions } from './suppressions.tsx';
export { default as Webhooks } from './webhooks.tsx';

// One part for the screens of this area: they share most of their words, and together they are a third smaller than one by one.
export { default as EditMonitor } from './edit-monitor.tsx';
export { default as Export } from './export.tsx';
export { default as Maintenance } from './maintenance.tsx';
export { default as Monitor } from './monitor.tsx';
export { default as Monitors } from './monitors.tsx';
export { default as NewMonitor } from './new-monitor.tsx';
export { default as PlanMaintenance } from './plan-maintenance.tsx';
export { default as Service } from './service.tsx';
export { default as Services } from './services.tsx';
export { default as Vantages } from './vantages.tsx';

/** Whether the person has asked their system for less motion. Style sheets ask the same (styles/base.css). */
export const prefersReducedMotion = (): boolean => matchMedia('(prefers-reduced-motion: reduce)').matches;

// Numbers beside the names of views, such as how many proposals wait. A view's module may not be loaded yet.

import { Value } from './lib/value';
import './review/notifications';
import { waiting } from './review/proposals';

export const badges = new Value<Record<string, number>>({});

waiting.watch((proposals) => badges.set({ ...badges.get(), review: proposals.length }));

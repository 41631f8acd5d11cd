import{k as t,n as r,v as e}from"./chunk-53CAZLUS.js";import"./chunk-OOJM4CTU.js";function o(p){return e("Graph"),t(r,{icon:"graph",title:"Graph"})}export{o as default};

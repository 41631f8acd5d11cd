import{j as t,m as r,u as e}from"./chunk-QJUIWON7.js";import"./chunk-OOJM4CTU.js";function o(p){return e("Graph"),t(r,{icon:"graph",title:"Graph"})}export{o as default};
